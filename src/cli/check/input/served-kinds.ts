/** Finds manifests of kinds that no API server has: a mistyped kind, group or version. */
import { dataSources } from '../../../api/data-source.ts'
import { dataSourceClaims } from '../../../api/data-source-claim.ts'
import { groupOf } from '../../../api/meta.ts'
import { volumeManagers } from '../../../api/volume-manager.ts'
import type { FieldError } from '../../../base/field-errors.ts'
import { suggest } from '../../../base/suggest.ts'

interface ServedGroup {
  /** Without the group. */
  version: string
  kinds: readonly string[]
  /** Whether no later version of the project has further kinds. */
  isComplete?: true
}

/** The groups of workloads, claims and policies. */
const SERVED: Readonly<Record<string, ServedGroup>> = {
  [dataSourceClaims.group]: {
    version: dataSourceClaims.version,
    kinds: [dataSourceClaims.kind, dataSources.kind],
    isComplete: true,
  },
  [volumeManagers.group]: { version: volumeManagers.version, kinds: [volumeManagers.kind], isComplete: true },
  '': {
    version: 'v1',
    kinds: [
      'ConfigMap',
      'Endpoints',
      'LimitRange',
      'Namespace',
      'Node',
      'PersistentVolume',
      'PersistentVolumeClaim',
      'Pod',
      'PodTemplate',
      'ReplicationController',
      'ResourceQuota',
      'Secret',
      'Service',
      'ServiceAccount',
    ],
  },
  apps: { version: 'v1', kinds: ['ControllerRevision', 'DaemonSet', 'Deployment', 'ReplicaSet', 'StatefulSet'] },
  batch: { version: 'v1', kinds: ['CronJob', 'Job'] },
  'cluster.karmada.io': { version: 'v1alpha1', kinds: ['Cluster'] },
  'policy.karmada.io': {
    version: 'v1alpha1',
    kinds: [
      'ClusterOverridePolicy',
      'ClusterPropagationPolicy',
      'ClusterTaintPolicy',
      'FederatedResourceQuota',
      'OverridePolicy',
      'PropagationPolicy',
    ],
  },
}

/**
 * Returns why no API server serves a kind; undefined if one may. The group of a workload can be missing, its kind mistyped, or its version
 * one that Kubernetes removed.
 */
export function unservedKind({ apiVersion, kind }: { apiVersion: string; kind: string }): FieldError | undefined {
  const group = groupOf(apiVersion)
  const served = Object.hasOwn(SERVED, group) ? SERVED[group] : undefined
  if (!served) return undefined
  const { version, kinds, isComplete } = served
  const right = group === '' ? version : `${group}/${version}`
  if (kinds.includes(kind)) {
    // The error of an old VolumeManager has the new form of its fields.
    if (apiVersion === right || isComplete) return undefined
    return notSupported('apiVersion', `${apiVersion} is not served; write ${right}`)
  }
  const [other] = Object.entries(SERVED).find(([, each]) => each.kinds.includes(kind)) ?? []
  if (other !== undefined) {
    const { version: otherVersion } = SERVED[other] as ServedGroup
    return notSupported('apiVersion', `${apiVersion} has no kind ${kind}; write ${other}/${otherVersion}`)
  }
  const hint = suggest(kind, kinds)
  return hint !== '' || isComplete ? notSupported('kind', `${apiVersion} has no kind ${kind}${hint}`) : undefined
}

function notSupported(path: string, message: string): FieldError {
  return { path, code: 'NotSupported', message }
}
