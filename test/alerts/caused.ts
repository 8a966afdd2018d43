/** The alerts whose section of docs/guides/alerts.md alerts.full.test.ts runs, while a fault of its own makes them fire. */
export const CAUSED = [
  'LodestoneAbsent',
  'LodestoneCertificateExpires',
  'LodestoneCredentialsExpired',
  'LodestoneNoLeader',
  'LodestoneRegistrationFight',
  'LodestoneSystemDown',
  'LodestoneWatchStale',
]

/** It fires there too. Its fault are connections, which are counted but not logged. */
export const CAUSED_WITHOUT_LOG = 'LodestoneRequestsShed'
