/** The validation rules of resync, which writes changes back to the source. */
import { parseDuration } from '../../../base/time/duration.ts'
import { wantedReplicas } from './distribution.ts'
import { problem, type Rule, whenSet } from './option-rules.ts'
import { parseBoolean } from './options.ts'

export const resync: Rule = whenSet('resync', (text) =>
  parseBoolean(text) === undefined
    ? `error while parsing resync option: strconv.ParseBool: parsing "${text}": invalid syntax`
    : undefined,
)

export const resyncInterval: Rule = whenSet('resyncInterval', (text) =>
  (parseDuration(text) ?? 0) > 0 ? undefined : 'resyncInterval has to be a duration, e.g. 5m.',
)

/** Read-only data has no changes that could be written back. */
export const resyncReadOnly: Rule = ({ readOnly, options = {} }) =>
  readOnly && parseBoolean(options['resync'] ?? '')
    ? problem('readOnly', 'Invalid', 'readOnly cannot be set when resync is: pods could write nothing to write back.')
    : undefined

/** Each shard may have one replica: the changes of two replicas of the same data could overwrite each other. */
export const resyncReplicas: Rule = (config) =>
  parseBoolean(config.options?.['resync'] ?? '') && Math.max(...wantedReplicas(config).values()) > 1
    ? problem('replicas', 'Invalid', 'replicas cannot be > 1 when resync is set')
    : undefined

/** Without its folder, a file has no origin to which it could be uploaded. */
export const resyncFlatten: Rule = ({ options = {} }) =>
  parseBoolean(options['resync'] ?? '') && parseBoolean(options['flatten'] ?? '')
    ? problem(
        'options.flatten',
        'Invalid',
        'flatten cannot be set when resync is: the folders of the files are unknown.',
      )
    : undefined
