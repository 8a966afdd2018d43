/** JSON Schemas of the fields with which a pod spec restricts its nodes, as Kubernetes 1.35 has them. */
import { NODE_OPERATORS } from '../../api/node.ts'

const text = { type: 'string', minLength: 1 }
const texts = arrayOf({ type: 'string' })
const labels = { type: 'object', additionalProperties: { type: 'string' } }
const weight = { type: 'integer', minimum: 1, maximum: 100 }

function arrayOf(items: object) {
  return { type: 'array', items }
}

function shape(properties: Record<string, object>, required: readonly string[] = []) {
  return { type: 'object', required, properties }
}

const expressions = (operators: readonly string[]) =>
  arrayOf(shape({ key: text, operator: { enum: operators }, values: texts }, ['key', 'operator']))

const labelSelector = shape({
  matchLabels: labels,
  matchExpressions: expressions(['In', 'NotIn', 'Exists', 'DoesNotExist']),
})

const nodeTerm = shape({ matchExpressions: expressions(NODE_OPERATORS), matchFields: expressions(NODE_OPERATORS) })

const podTerm = shape(
  {
    labelSelector,
    namespaceSelector: labelSelector,
    namespaces: texts,
    topologyKey: text,
    matchLabelKeys: texts,
    mismatchLabelKeys: texts,
  },
  ['topologyKey'],
)

const podTerms = shape({
  requiredDuringSchedulingIgnoredDuringExecution: arrayOf(podTerm),
  preferredDuringSchedulingIgnoredDuringExecution: arrayOf(
    shape({ weight, podAffinityTerm: podTerm }, ['weight', 'podAffinityTerm']),
  ),
})

/** `affinity` of a pod spec. */
export const affinitySchema = shape({
  nodeAffinity: shape({
    requiredDuringSchedulingIgnoredDuringExecution: shape({ nodeSelectorTerms: arrayOf(nodeTerm) }, [
      'nodeSelectorTerms',
    ]),
    preferredDuringSchedulingIgnoredDuringExecution: arrayOf(
      shape({ weight, preference: nodeTerm }, ['weight', 'preference']),
    ),
  }),
  podAffinity: podTerms,
  podAntiAffinity: podTerms,
})

/** `tolerations` of a pod spec. */
export const tolerationsSchema = arrayOf(
  shape({
    key: { type: 'string' },
    operator: { enum: ['Exists', 'Equal', 'Lt', 'Gt'] },
    value: { type: 'string' },
    effect: { enum: ['NoSchedule', 'PreferNoSchedule', 'NoExecute'] },
    tolerationSeconds: { type: 'integer' },
  }),
)

const policy = { enum: ['Honor', 'Ignore'] }

/** `topologySpreadConstraints` of a pod spec. */
export const topologySpreadSchema = arrayOf(
  shape(
    {
      maxSkew: { type: 'integer', minimum: 1 },
      topologyKey: text,
      whenUnsatisfiable: { enum: ['DoNotSchedule', 'ScheduleAnyway'] },
      labelSelector,
      minDomains: { type: 'integer', minimum: 1 },
      matchLabelKeys: texts,
      nodeAffinityPolicy: policy,
      nodeTaintsPolicy: policy,
    },
    ['maxSkew', 'topologyKey', 'whenUnsatisfiable'],
  ),
)

/** `dnsConfig` of a pod spec. */
export const dnsConfigSchema = shape({
  nameservers: texts,
  searches: texts,
  options: arrayOf(shape({ name: text, value: { type: 'string' } }, ['name'])),
})
