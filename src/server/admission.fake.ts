/** The settings of `serveWebhook` in tests: the defaults of the configuration. */
import { defaultSettings } from '../webhooks/context.fake.ts'

const { karmadaRules: _, whenNotReady, volumeLimits, ...fixed } = defaultSettings

export const admissionSettings = { ...fixed, volumes: () => ({ whenNotReady, volumeLimits }) }
