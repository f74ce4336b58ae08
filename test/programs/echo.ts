/** The smallest program a test can spawn: reports its arguments, sends back what it is sent, and fails when told `fail`. */

process.on('message', message => {
  if (message === 'fail') throw new Error('told to fail')
  process.send?.({ echo: message })
})

console.log('echo is up')
process.send?.({ args: process.argv.slice(2), greeting: process.env.GREETING })
