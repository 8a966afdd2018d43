/** JSON Schema of the fields of pods that admission reads. */

/**
 * The maximum length of lists. Each volume of a pod is compared with its lists, so they need a limit; an API server has none. Real pods
 * stay below it.
 */
const MAX_ITEMS = 1000

const text = { type: 'string' }
const boundedArray = (items: object, maxItems = MAX_ITEMS) => ({ type: 'array', maxItems, items })
const containers = boundedArray({
  type: 'object',
  required: ['name'],
  properties: {
    name: text,
    volumeMounts: boundedArray({
      type: 'object',
      required: ['name', 'mountPath'],
      properties: { name: text, mountPath: text, subPath: text, subPathExpr: text },
    }),
    volumeDevices: boundedArray({
      type: 'object',
      required: ['name', 'devicePath'],
      properties: { name: text, devicePath: text },
    }),
  },
})
const requirements = boundedArray({
  type: 'object',
  required: ['key', 'operator'],
  properties: { key: text, operator: text, values: boundedArray(text, 10 * MAX_ITEMS) },
})
const term = { type: 'object', properties: { matchExpressions: requirements, matchFields: requirements } }

/** The fields of a pod spec that admission reads, with the types that injection requires. */
export const podSpecSchema = {
  type: 'object',
  required: ['containers'],
  properties: {
    containers,
    initContainers: containers,
    volumes: boundedArray({
      type: 'object',
      required: ['name'],
      properties: {
        name: text,
        hostPath: { type: 'object', required: ['path'], properties: { path: text, type: text } },
        persistentVolumeClaim: { type: 'object', required: ['claimName'], properties: { claimName: text } },
      },
    }),
    affinity: {
      type: 'object',
      properties: {
        nodeAffinity: {
          type: 'object',
          properties: {
            requiredDuringSchedulingIgnoredDuringExecution: {
              type: 'object',
              required: ['nodeSelectorTerms'],
              properties: { nodeSelectorTerms: { ...boundedArray(term, 100), minItems: 1 } },
            },
            preferredDuringSchedulingIgnoredDuringExecution: boundedArray({
              type: 'object',
              required: ['weight', 'preference'],
              properties: { preference: term },
            }),
          },
        },
      },
    },
    schedulingGates: boundedArray({ type: 'object', required: ['name'], properties: { name: text } }),
    tolerations: boundedArray({ type: 'object', properties: { key: text, operator: text, value: text, effect: text } }),
    nodeName: text,
    nodeSelector: { type: 'object', additionalProperties: text },
    os: { type: 'object', required: ['name'], properties: { name: text } },
  },
} as const
