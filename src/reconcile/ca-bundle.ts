/** The CA bundle of a registration while replicas serve certificates of different CAs. */

const CERTIFICATE = /-----BEGIN CERTIFICATE-----[^-]*-----END CERTIFICATE-----/g

export interface CaBundleInput {
  /** The bundle of this replica, in base64; undefined if another tool writes it. */
  own: string | undefined
  /** The registered bundle, in base64. */
  registered: string | undefined
  /** Whether the CAs of other replicas stay. */
  keepsOtherCas: boolean
}

/** Returns the bundle to register, in base64: the registered one if it has all CAs of this replica, and others may stay. */
export function caBundleToRegister({ own, registered, keepsOtherCas }: CaBundleInput): string | undefined {
  if (own === undefined || registered === undefined || !keepsOtherCas) return own
  const ours = certificatesIn(own)
  const theirs = certificatesIn(registered).filter((certificate) => !ours.includes(certificate))
  if (theirs.length === 0) return own
  const isRegistered = ours.every((certificate) => certificatesIn(registered).includes(certificate))
  return isRegistered ? registered : Buffer.from([...ours, ...theirs].join('\n').concat('\n')).toString('base64')
}

/** Text that is not a certificate counts as one. */
function certificatesIn(bundle: string): string[] {
  const text = Buffer.from(bundle, 'base64').toString()
  return text.match(CERTIFICATE) ?? [text.trim()].filter((other) => other !== '')
}
