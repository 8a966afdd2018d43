/** Decides by its certificate whether a caller may send reviews. */
import type { TLSSocket } from 'node:tls'

/**
 * Returns a function that checks the caller of a connection. It returns the reason for a rejection, or undefined.
 *
 * @param names accepted common names or DNS names; if empty, every certificate of the CA is accepted
 */
export function checkCallers(names: readonly string[] = []): (socket: TLSSocket) => string | undefined {
  const known = new WeakMap<TLSSocket, { refusal: string | undefined }>()

  function whyRefused(socket: TLSSocket): string | undefined {
    const certificate = socket.getPeerCertificate()
    if (!socket.authorized) {
      return Object.keys(certificate ?? {}).length === 0
        ? 'a client certificate is required'
        : `the client certificate is not accepted: ${socket.authorizationError}`
    }
    if (names.length === 0) return undefined
    const shown = namesIn(certificate)
    if (shown.some((name) => names.includes(name))) return undefined
    return `the client certificate names ${shown.join(', ').slice(0, 200) || 'nothing'}; it has to name ${names.join(' or ')}`
  }

  return (socket) => {
    const before = known.get(socket)
    if (before) return before.refusal
    const refusal = whyRefused(socket)
    known.set(socket, { refusal })
    return refusal
  }
}

/** Returns the common names and DNS names of a certificate. */
function namesIn({ subject, subjectaltname = '' }: { subject?: { CN?: string | string[] }; subjectaltname?: string }) {
  const alternatives = subjectaltname.split(', ').flatMap((name) => (name.startsWith('DNS:') ? name.slice(4) : []))
  return [...[subject?.CN ?? []].flat(), ...alternatives]
}
