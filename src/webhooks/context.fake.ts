/** The settings of reviews in tests: the defaults of the configuration, with loops. */
import { DEFAULT_TIMING } from '../core/resource-binding/timing.ts'
import { DEFAULT_VOLUME_LIMITS } from '../core/volume-manager/rules/settings.ts'
import type { GatherContext } from './define.ts'

export const defaultSettings = {
  clusterScopedClaims: 'forbidden',
  timing: DEFAULT_TIMING,
  matrix: undefined,
  karmadaRules: undefined,
  propagateDeps: 'dataBound',
  whenNotReady: 'gate',
  volumeLimits: DEFAULT_VOLUME_LIMITS,
  loopsEnabled: true,
} as const satisfies Omit<GatherContext, 'store' | 'now'>
