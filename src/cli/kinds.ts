/** Names of kinds in arguments: kind, plural or short name, with or without a group. */
import { dataSources } from '../api/data-source.ts'
import { dataSourceClaims } from '../api/data-source-claim.ts'
import { clusterResourceBindings, resourceBindings } from '../api/karmada.ts'
import { volumeManagers } from '../api/volume-manager.ts'
import { suggest } from '../core/suggest.ts'
import { UsageError } from './command.ts'

export interface NamedKind {
  group: string
  kind: string
  namespaced: boolean
}

const named = (group: string, kind: string, names: string[], namespaced = true) => ({
  group,
  kind,
  namespaced,
  names: [kind.toLowerCase(), `${kind.toLowerCase()}s`, ...names],
})

/** Built-in kinds of workloads, and kinds of Lodestone. Other kinds are written `Kind.group`, for example RayJob.ray.io. */
const KINDS = [
  named('apps', 'Deployment', ['deploy']),
  named('apps', 'StatefulSet', ['sts']),
  named('apps', 'DaemonSet', []),
  named('apps', 'ReplicaSet', ['rs']),
  named('batch', 'Job', []),
  named('batch', 'CronJob', ['cj']),
  named('', 'Pod', ['po']),
  named('', 'ConfigMap', ['cm']),
  named('', 'Secret', []),
  named('', 'Service', ['svc']),
  named('', 'PersistentVolumeClaim', ['pvc']),
  named('rbac.authorization.k8s.io', 'ClusterRole', [], false),
  named(dataSourceClaims.group, dataSourceClaims.kind, ['dsc']),
  named(dataSources.group, dataSources.kind, ['ds'], false),
  named(volumeManagers.group, volumeManagers.kind, ['vmgr']),
  named(resourceBindings.group, resourceBindings.kind, ['rb']),
  named(clusterResourceBindings.group, clusterResourceBindings.kind, ['crb'], false),
]

/** Reads `KIND/NAME`. Throws `UsageError` with a suggestion. */
export function readTarget(word: string): NamedKind & { name: string } {
  const slash = word.indexOf('/')
  const [kindWord, name] = slash < 0 ? [word, ''] : [word.slice(0, slash), word.slice(slash + 1)]
  if (!name) throw new UsageError(`expected KIND/NAME, e.g. deployment/trainer, not ${word}`)
  const dot = kindWord.indexOf('.')
  const [given, group] = dot > 0 ? [kindWord.slice(0, dot), kindWord.slice(dot + 1)] : [kindWord, undefined]
  // A known kind may have its group, as in names that kubectl prints: deployment.apps/trainer.
  const known = KINDS.find((kind) => kind.names.includes(given.toLowerCase()) && kind.group === (group ?? kind.group))
  if (known) return { group: known.group, kind: known.kind, namespaced: known.namespaced, name }
  if (group !== undefined) {
    if (given === given.toLowerCase()) {
      throw new UsageError(`write a custom kind as in its manifest, e.g. RayJob.ray.io, not ${kindWord}`)
    }
    return { group, kind: given, namespaced: true, name }
  }
  const all = KINDS.map(({ kind }) => kind.toLowerCase())
  throw new UsageError(
    `unknown kind ${kindWord}${suggest(kindWord, all)}; write a custom kind as Kind.group, e.g. RayJob.ray.io`,
  )
}
