/** The table of rules of each source type, and the problems of one volume. */
import {
  NODE_OPERATORS,
  type NodeAffinity,
  type NodeSelectorRequirement,
  type NodeSelectorTerm,
  requiredTermsOf,
} from '../../../api/node.ts'
import { volumeConfigSchema } from '../../../api/schemas/volume-manager.ts'
import type { VolumeConfig } from '../../../api/volume-manager.ts'
import { isLabelKey, isLabelValue, subdomainProblem } from '../../../base/names.ts'
import { compileSchema } from '../../../base/schema/schema-errors.ts'
import { isInteger } from '../nodes/feasibility.ts'
import { AZURE_BLOB, isAzureStream } from './azure-rules.ts'
import { MOVER_RULES } from './mover-rules.ts'
import {
  absolutePath,
  distribution,
  endpoint,
  exclude,
  flatten,
  hostDirectory,
  outputPath,
  ownNamespace,
  pachydermAddress,
  problem,
  type Rule,
  region,
  required,
  secretName,
  server,
  timeout,
  type VolumeProblem,
  verify,
} from './option-rules.ts'
import { parseQuantity } from './options.ts'
import { POD_RULES } from './pod-rules.ts'
import { isRefreshable } from './published.ts'
import { resync, resyncFlatten, resyncInterval, resyncReadOnly, resyncReplicas } from './resync-rules.ts'
import { S3, S3_CREDENTIALS, S3_ONLY, S3_REQUESTS, S3_SOURCE } from './s3-rules.ts'
import type { VolumeLimits } from './settings.ts'
import { SOURCE_TYPE_NAMES, sourceTypeOf } from './source-types.ts'

const labels: Rule = ({ labels: given = {} }) =>
  Object.keys(given).length > 0 ? undefined : problem('labels', 'Required', 'labels cannot be empty.')

const RESERVED_LABEL = /^(vckname|vcid|lodestone\.dev\/.*)$/

const labelSyntax: Rule = ({ labels: given = {} }) => {
  const wrong = Object.entries(given).find(
    ([key, value]) => RESERVED_LABEL.test(key) || !isLabelKey(key) || !isLabelValue(value),
  )
  if (!wrong) return undefined
  const [key, value] = wrong
  const message = RESERVED_LABEL.test(key)
    ? `labels cannot have ${key}: it is set by the controller.`
    : `labels cannot have ${key}: ${value}: it is not a valid label.`
  return problem('labels', 'Invalid', message)
}

/** The status has an entry for each replica, and an object has at most 1.5 MiB. */
export const MAX_REPLICAS = 1000

const replicas: Rule = ({ replicas: count, onEveryNode }) => {
  if (onEveryNode) {
    return count === undefined
      ? undefined
      : problem(
          'replicas',
          'Forbidden',
          'replicas cannot be set with onEveryNode: every node gets one. Remove one of them.',
        )
  }
  if (count === undefined || count < 1) {
    return problem('replicas', 'Invalid', 'replicas cannot be empty or less than 1.')
  }
  return count > MAX_REPLICAS
    ? problem('replicas', 'Invalid', `replicas cannot be more than ${MAX_REPLICAS}.`)
    : undefined
}

const onEveryNode: Rule = ({ onEveryNode: isSet, options = {} }) => {
  const excluded = isSet ? ['distributionStrategy', 'resync'].find((name) => options[name] !== undefined) : undefined
  return excluded === undefined
    ? undefined
    : problem('onEveryNode', 'Forbidden', `onEveryNode cannot be set with ${excluded}.`)
}

const onSomeNodes: Rule = ({ onEveryNode: isSet, sourceType }) =>
  isSet
    ? problem('onEveryNode', 'Forbidden', `onEveryNode cannot be set for ${sourceType}, which downloads nothing.`)
    : undefined

function accessMode(allowed: readonly string[], message: string): Rule {
  return ({ accessMode: mode }) => {
    if (!mode) return problem('accessMode', 'Required', 'accessMode has to be set.')
    return allowed.includes(mode) ? undefined : problem('accessMode', 'NotSupported', message)
  }
}

const ownMode = accessMode(['ReadWriteOnce'], 'accessMode must be ReadWriteOnce.')
const sharedMode = accessMode(['ReadWriteMany', 'ReadOnlyMany'], 'accessMode must be ReadWriteMany or ReadOnlyMany.')
const anyMode = accessMode(
  ['ReadWriteOnce', 'ReadWriteMany', 'ReadOnlyMany'],
  'accessMode must be ReadWriteOnce, ReadWriteMany or ReadOnlyMany.',
)

const claimCapacity: Rule = ({ capacity }) =>
  capacity ? undefined : problem('capacity', 'Required', 'capacity has to be set, e.g. 5Gi.')

const capacity: Rule = ({ capacity: given }) => {
  if (!given) return undefined
  const bytes = parseQuantity(given)
  if (bytes === undefined) return problem('capacity', 'Invalid', 'capacity has to be a quantity, e.g. 5Gi.')
  // The request of a claim is a positive int64.
  return bytes > 0 && bytes < 2 ** 63
    ? undefined
    : problem('capacity', 'Invalid', 'capacity has to be more than 0 and less than 8Ei.')
}

const dataNodes: Rule = ({ nodeAffinity }) =>
  requiredTermsOf(nodeAffinity)?.length
    ? undefined
    : problem(
        'nodeAffinity',
        'Required',
        'nodeAffinity has to say which nodes have the data (requiredDuringSchedulingIgnoredDuringExecution).',
      )

const affinity: Rule = ({ nodeAffinity }) => {
  const [first] = affinityProblems(nodeAffinity)
  return first && problem(`nodeAffinity.${first.path}`, 'Invalid', `nodeAffinity: ${first.path} ${first.message}.`)
}

/** The least time between two refreshes. */
export const MIN_REFRESH_SECONDS = 60

/** A refresh replaces all files, so files of pods would be lost. Data without a download has no source to compare with. */
const refreshInterval: Rule = (config) => {
  const { refreshIntervalSeconds: seconds } = config
  if (seconds === undefined) return undefined
  if (seconds < MIN_REFRESH_SECONDS) {
    return problem(
      'refreshIntervalSeconds',
      'Invalid',
      `refreshIntervalSeconds has to be at least ${MIN_REFRESH_SECONDS}.`,
    )
  }
  return isRefreshable(config)
    ? undefined
    : problem(
        'refreshIntervalSeconds',
        'Invalid',
        'refreshIntervalSeconds can only be set for downloaded data with readOnly: true: a refresh would drop files of pods.',
      )
}

/** Only data that movers bring has a PersistentVolume for each replica. NFS is mounted by one claim on every node. */
const volumeType: Rule = ({ sourceType, volumeType: given }) => {
  const { delivery } = sourceTypeOf(sourceType)
  const only = { moved: undefined, mounted: 'persistentVolumeClaim', present: 'hostPath' }[delivery]
  return given === undefined || only === undefined || given === only
    ? undefined
    : problem('volumeType', 'NotSupported', `volumeType must be ${only} for ${sourceType}; remove it.`)
}

const EVERY_TYPE = [
  labels,
  labelSyntax,
  ownNamespace,
  affinity,
  ...POD_RULES,
  ...MOVER_RULES,
  capacity,
  volumeType,
  refreshInterval,
]
const DOWNLOADED = [
  ...[replicas, onEveryNode, timeout, distribution, flatten, exclude],
  ...[resync, resyncInterval, resyncReplicas, resyncReadOnly, resyncFlatten],
  hostDirectory('dataPath', 'data'),
]
/** Applies rules only to some of the volumes of a type. */
function where(applies: (config: VolumeConfig) => boolean, rules: readonly Rule[]): Rule[] {
  return rules.map((rule) => (config, limits) => (applies(config) ? rule(config, limits) : undefined))
}

const RULES: Readonly<Record<string, readonly Rule[]>> = {
  S3: [...S3, ...DOWNLOADED, ownMode],
  'S3-Dev': [...S3, ...DOWNLOADED, ownMode],
  NFS: [onSomeNodes, required('server'), server, required('path'), absolutePath, sharedMode, claimCapacity],
  Pachyderm: [
    ...['repo', 'branch', 'inputPath', 'outputPath'].map(required),
    outputPath,
    endpoint('s3GatewayURL'),
    pachydermAddress,
    region,
    verify,
    ...S3_REQUESTS,
    secretName('pachAuthSecretName'),
    ...DOWNLOADED,
    ownMode,
  ],
  AzureBlob: [...AZURE_BLOB, ...DOWNLOADED, ownMode],
  Local: [onSomeNodes, required('path'), hostDirectory('path', 'local'), dataNodes, anyMode],
  Stream: [
    ...where(isAzureStream, [...AZURE_BLOB, ...S3_ONLY]),
    ...where((config) => !isAzureStream(config) && Boolean(config.options?.['sourceURL']), [S3_CREDENTIALS]),
    ...where((config) => !isAzureStream(config), S3_SOURCE),
    replicas,
    onEveryNode,
    distribution,
    flatten,
    exclude,
    timeout,
    hostDirectory('dataPath', 'data'),
    anyMode,
  ],
}

/** All problems of a volume that matches the schema; none means that movers can be created for it. */
export function volumeProblems(config: VolumeConfig, limits: VolumeLimits): VolumeProblem[] {
  const rules = Object.hasOwn(RULES, config.sourceType) ? RULES[config.sourceType] : undefined
  const unknown = problem(
    'sourceType',
    'NotSupported',
    `sourceType must be one of ${SOURCE_TYPE_NAMES.filter((name) => name !== 'S3-Dev').join(', ')}.`,
  )
  return [
    ...(rules ? [] : [unknown]),
    ...[...EVERY_TYPE, ...(rules ?? [])].flatMap((rule) => rule(config, limits) ?? []),
  ]
}

const validateConfig = compileSchema(volumeConfigSchema)

/**
 * All problems of a stored volume, which need not match the schema: the CRD of VCK allows any content. The rules do not read one whose fields have
 * wrong types. Limits of the schema do not count, since the data is there.
 */
export function storedProblems(config: VolumeConfig, limits: VolumeLimits): VolumeProblem[] {
  const wrong = validateConfig(config).filter(({ code }) => code === 'Invalid' || code === 'Required')
  return wrong.length > 0
    ? wrong.map(({ path, code, message }) => problem(path, code, `${path}: ${message}.`))
    : volumeProblems(config, limits)
}

interface AffinityProblem {
  path: string
  message: string
}

/** Returns the fields of an affinity that the API server would reject in a Pod, and an empty list of terms, which matches no node. */
export function affinityProblems(affinity: NodeAffinity | undefined): AffinityProblem[] {
  const required = affinity?.requiredDuringSchedulingIgnoredDuringExecution
  const path = 'requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms'
  const none = required?.nodeSelectorTerms.length === 0 ? [{ path, message: 'must have a term' }] : []
  return [
    ...none,
    ...(required?.nodeSelectorTerms ?? []).flatMap((term, i) => termProblems(term, `${path}[${i}]`, isLabelValue)),
    ...(affinity?.preferredDuringSchedulingIgnoredDuringExecution ?? []).flatMap(({ weight, preference }, i) => {
      const at = `preferredDuringSchedulingIgnoredDuringExecution[${i}]`
      const outside = weight < 1 || weight > 100 ? [{ path: `${at}.weight`, message: 'must be 1 to 100' }] : []
      // The API server checks only the values of required terms (kubernetes, ValidatePreferredSchedulingTerms).
      return [...outside, ...termProblems(preference, `${at}.preference`, () => true)]
    }),
  ]
}

function termProblems(
  { matchExpressions = [], matchFields = [] }: NodeSelectorTerm,
  path: string,
  isValue: (value: string) => boolean,
): AffinityProblem[] {
  return [
    ...matchExpressions.flatMap((one, i) => requirementProblems(one, `${path}.matchExpressions[${i}]`, isValue)),
    ...matchFields.flatMap((one, i) => fieldProblems(one, `${path}.matchFields[${i}]`)),
  ]
}

function requirementProblems(
  { key, operator, values = [] }: NodeSelectorRequirement,
  path: string,
  isValue: (value: string) => boolean,
): AffinityProblem[] {
  const wrong = (message: string) => [{ path, message }]
  if (!isLabelKey(key)) return wrong('must have the key of a label')
  if (!NODE_OPERATORS.includes(operator)) return wrong(`must have an operator of ${NODE_OPERATORS.join(', ')}`)
  if (['In', 'NotIn'].includes(operator)) {
    if (values.length === 0) return wrong(`must have values for ${operator}`)
    return values.every(isValue) ? [] : wrong(`must have values of labels for ${operator}`)
  }
  if (['Exists', 'DoesNotExist'].includes(operator)) {
    return values.length === 0 ? [] : wrong(`must have no values for ${operator}`)
  }
  return values.length === 1 && isInteger(values[0]) ? [] : wrong(`must have one integer as value for ${operator}`)
}

function fieldProblems({ key, operator, values = [] }: NodeSelectorRequirement, path: string): AffinityProblem[] {
  const [name, ...more] = values
  const isNode = name !== undefined && more.length === 0 && subdomainProblem(name) === undefined
  const isRight = key === 'metadata.name' && ['In', 'NotIn'].includes(operator) && isNode
  return isRight ? [] : [{ path, message: 'must be metadata.name In or NotIn the name of one node' }]
}
