/** The option `--karmada-version`: the version whose rules a command applies. */
import type { Config } from '../../app/config/config.ts'
import { type KarmadaRules, newestRules, rulesOfVersion } from '../../core/karmada-rules.ts'
import { type Arguments, UsageError } from '../command.ts'

export const KARMADA_VERSION_OPTION = {
  'karmada-version': {
    type: 'string',
    value: 'VERSION',
    description:
      'Apply the rules of this Karmada, e.g. 1.17 (default: that of the API server; in a folder, the newest)',
  },
} as const

/**
 * Returns the rules of the option, of the configuration, or of the API server, in this order. Without any of them, they are those of the
 * newest version. Throws `UsageError` for an invalid version.
 */
export function karmadaRulesOf(args: Arguments, config: Config, ofServer?: KarmadaRules): KarmadaRules {
  const given = args.text('karmada-version')
  if (given === undefined) return configuredKarmadaRules(config, ofServer)
  const rules = rulesOfVersion(given)
  if (!rules) throw new UsageError(`--karmada-version takes a version such as 1.17, not ${given}`)
  return rules
}

/** As `karmadaRulesOf`, for a command without the option. */
export function configuredKarmadaRules({ karmada }: Config, ofServer: KarmadaRules = newestRules): KarmadaRules {
  return rulesOfVersion(karmada.version ?? '') ?? ofServer
}
