/**
 * JSON Schemas of the fields of Karmada's objects that Lodestone reads. Unknown fields are valid. Mutating webhooks run before the
 * validation of the API server, so a field may have a value of any type. The schema of policies also names the fields of Karmada 1.18 that
 * are not read, so that `check` finds mistyped ones.
 */

const strings = { type: 'array', items: { type: 'string' } }
const requirements = {
  type: 'array',
  items: {
    type: 'object',
    required: ['key', 'operator'],
    properties: { key: { type: 'string' }, operator: { type: 'string' }, values: strings },
  },
}
const labels = { type: 'object', additionalProperties: { type: 'string' } }
const metadata = { type: 'object', properties: { name: { type: 'string' }, labels, annotations: labels } }

const affinity = {
  labelSelector: { type: 'object', properties: { matchLabels: labels, matchExpressions: requirements } },
  fieldSelector: { type: 'object', properties: { matchExpressions: requirements } },
  clusterNames: strings,
  exclude: strings,
}
const toleration = {
  type: 'object',
  properties: {
    key: { type: 'string' },
    operator: { type: 'string' },
    value: { type: 'string' },
    effect: { type: 'string' },
    tolerationSeconds: { type: 'integer' },
  },
}
const named = { affinityName: { type: 'string' }, ...affinity }
const overflow = { type: 'object', required: ['affinityName'], properties: named }

/** Fields with any value. */
const unread = (...names: string[]) => Object.fromEntries(names.map((name) => [name, {}]))

const weight = {
  type: 'object',
  properties: { targetCluster: { type: 'object', properties: affinity }, ...unread('weight') },
}

const placement = {
  type: 'object',
  properties: {
    clusterAffinity: { type: 'object', properties: affinity },
    clusterAffinities: {
      type: 'array',
      items: {
        type: 'object',
        required: ['affinityName'],
        properties: { ...named, overflowAffinities: { type: 'array', items: overflow } },
      },
    },
    clusterTolerations: { type: 'array', items: toleration },
    spreadConstraints: {
      type: 'array',
      items: {
        type: 'object',
        properties: {
          spreadByField: { type: 'string' },
          spreadByLabel: { type: 'string' },
          minGroups: { type: 'integer' },
          maxGroups: { type: 'integer' },
        },
      },
    },
    replicaScheduling: {
      type: 'object',
      properties: {
        replicaSchedulingType: { type: 'string' },
        replicaDivisionPreference: { type: 'string' },
        weightPreference: {
          type: 'object',
          properties: { staticWeightList: { type: 'array', items: weight }, dynamicWeight: { type: 'string' } },
        },
      },
    },
    ...unread('workloadAffinity'),
  },
}

const resource = {
  type: 'object',
  required: ['apiVersion', 'kind', 'name'],
  properties: {
    apiVersion: { type: 'string' },
    kind: { type: 'string' },
    namespace: { type: 'string' },
    name: { type: 'string' },
  },
}

const arrayWithField = (field: string) => ({
  type: 'array',
  items: { type: 'object', required: [field], properties: { [field]: { type: 'string' } } },
})

const withSpec = (required: string[], properties: Record<string, object>) => ({
  type: 'object',
  required: ['metadata', 'spec'],
  properties: { metadata, spec: { type: 'object', required, properties } },
})

/** Returns the schema of an object whose metadata the schema of the review has validated already. */
export function withoutMetadata({ properties: { metadata: _, ...properties } }: ReturnType<typeof withSpec>): object {
  return { type: 'object', required: ['spec'], properties }
}

/** The fields by which a policy, and a binding of it, suspend the creation and updates of a workload in clusters. */
const dispatching = {
  dispatching: { type: 'boolean' },
  dispatchingOnClusters: {
    type: 'object',
    properties: { clusterNames: { type: 'array', items: { type: 'string' } } },
  },
}

const failoverBehavior = (...others: string[]) => ({
  type: 'object',
  properties: {
    statePreservation: { type: 'object', properties: { rules: { type: 'array' } } },
    ...unread('purgeMode', ...others),
  },
})
const failover = {
  type: 'object',
  properties: {
    application: failoverBehavior('decisionConditions', 'gracePeriodSeconds'),
    cluster: failoverBehavior(),
  },
}

const bindingWithSpec = withSpec(['resource'], {
  resource,
  replicas: { type: 'integer' },
  components: { type: 'array' },
  clusters: arrayWithField('name'),
  placement,
  gracefulEvictionTasks: arrayWithField('fromCluster'),
  suspension: { type: 'object', properties: { scheduling: { type: 'boolean' }, ...dispatching } },
  failover,
  requiredBy: {
    type: 'array',
    items: {
      type: 'object',
      required: ['name'],
      properties: { namespace: { type: 'string' }, name: { type: 'string' }, clusters: arrayWithField('name') },
    },
  },
})

/** ResourceBinding and ClusterResourceBinding. */
export const bindingSchema = {
  ...bindingWithSpec,
  properties: {
    ...bindingWithSpec.properties,
    status: {
      type: 'object',
      properties: { conditions: arrayWithField('type'), aggregatedStatus: arrayWithField('clusterName') },
    },
  },
}

/** PropagationPolicy and ClusterPropagationPolicy. */
export const policySchema = withSpec(['resourceSelectors'], {
  resourceSelectors: {
    type: 'array',
    items: {
      type: 'object',
      required: ['apiVersion', 'kind'],
      properties: { ...resource.properties, labelSelector: affinity.labelSelector },
    },
  },
  placement,
  propagateDeps: { type: 'boolean' },
  priority: { type: 'integer' },
  preemption: { type: 'string' },
  activationPreference: { type: 'string' },
  preserveResourcesOnDeletion: { type: 'boolean' },
  suspension: { type: 'object', properties: dispatching },
  failover,
  ...unread('association', 'dependentOverrides', 'schedulerName', 'conflictResolution', 'schedulePriority'),
})

export const clusterSchema = {
  type: 'object',
  required: ['metadata'],
  properties: {
    metadata,
    spec: {
      type: 'object',
      properties: {
        syncMode: { type: 'string' },
        provider: { type: 'string' },
        region: { type: 'string' },
        zone: { type: 'string' },
        zones: strings,
        taints: {
          type: 'array',
          items: {
            type: 'object',
            required: ['key', 'effect'],
            properties: { key: { type: 'string' }, value: { type: 'string' }, effect: { type: 'string' } },
          },
        },
      },
    },
    status: {
      type: 'object',
      properties: {
        conditions: { type: 'array', items: { type: 'object' } },
        apiEnablements: {
          type: 'array',
          items: {
            type: 'object',
            required: ['groupVersion'],
            properties: { groupVersion: { type: 'string' }, resources: { type: 'array', items: { type: 'object' } } },
          },
        },
      },
    },
  },
}
