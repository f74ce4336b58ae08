/** How much longer than it should anything takes here, because others use this machine as well: 1 where nobody does. */
export function slowdown(): number {
  const spinMs = 200
  const [begun, before] = [performance.now(), process.cpuUsage()]
  while (process.cpuUsage(before).user < spinMs * 1000) Math.hypot(begun, Math.random())
  return Math.max(1, (performance.now() - begun) / spinMs)
}
