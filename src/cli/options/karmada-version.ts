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
export function karmadaRulesOf(args: Arguments, { karmada }: Config, ofServer?: KarmadaRules): KarmadaRules {
  const given = args.text('karmada-version')
  const version = given ?? karmada.version
  if (version === undefined) return ofServer ?? newestRules
  const rules = rulesOfVersion(version)
  if (!rules) throw new UsageError(`--karmada-version takes a version such as 1.17, not ${given}`)
  return rules
}
