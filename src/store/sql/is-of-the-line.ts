/**
 * Whether Node says by the code of an error that it happened on the way to a server: in the system, in a socket or a stream, in TLS
 * or with a certificate. Drivers add codes of their own to these.
 */
const ofTheSystem = /^E(?!RR_)[A-Z0-9_]+$/
const ofNode = /^ERR_(TLS|SSL|SOCKET|STREAM)_/
const ofCertificates =
  /^(CERT_|CRL_|DEPTH_ZERO_SELF_SIGNED_CERT|SELF_SIGNED_CERT|UNABLE_TO_|ERROR_IN_C(ERT|RL)_|HOSTNAME_MISMATCH|INVALID_CA|INVALID_PURPOSE|PATH_LENGTH_EXCEEDED)/

export function isOfTheLine({ code, syscall }: { readonly code?: unknown; readonly syscall?: unknown }): boolean {
  if (typeof syscall === 'string') return true
  return typeof code === 'string' && [ofTheSystem, ofNode, ofCertificates].some(kind => kind.test(code))
}
