/**
 * The alerts by the test that runs their sections of docs/guides/alerts.md. Each test causes faults, and runs a section while its alert fires:
 * no section runs on a healthy installation.
 */
export const CAUSED_IN = {
  'alerts.full': [
    'LodestoneAbsent',
    'LodestoneCertificateExpires',
    'LodestoneCredentialsExpire',
    'LodestoneCredentialsExpired',
    'LodestoneNoLeader',
    'LodestoneRegistrationFight',
    'LodestoneSystemDown',
    'LodestoneWatchStale',
  ],
  'alerts-hub.full': [
    'LodestoneClaimsBurnBudget',
    'LodestoneClaimsBurnBudgetFast',
    'LodestoneHoldOverdue',
    'LodestoneKindUnavailable',
    'LodestoneLoopsWait',
    'LodestoneMovesExhausted',
    'LodestoneOldHold',
    'LodestoneRequestsShed',
    'LodestoneReviewsBurnBudget',
    'LodestoneReviewsBurnBudgetFast',
    'LodestoneReviewsFail',
    'LodestoneWrongPlacement',
  ],
  'alerts-member.full': ['LodestoneDiskPressure', 'LodestoneMoversFail', 'LodestoneWriteBackConflict'],
}

/** It fires in alerts.full too. Its fault there are connections, which are counted but not logged. */
export const CAUSED_WITHOUT_LOG = 'LodestoneRequestsShed'
