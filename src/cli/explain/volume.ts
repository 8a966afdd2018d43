/** Lines about a volume of a VolumeManager, and about its replicas on nodes. */
import { volumeManagerSchema } from '../../api/schemas/volume-manager.ts'
import { type VolumeConfig, type VolumeManager, volumeManagers } from '../../api/volume-manager.ts'
import type { DeletionStatus, ReplicaStatus } from '../../api/volume-status.ts'
import type { FieldError } from '../../base/field-errors.ts'
import { defined } from '../../base/json.ts'
import { formatBytes } from '../../base/quantity.ts'
import { compileSchema } from '../../base/schema/schema-errors.ts'
import { formatAge } from '../../base/time/duration.ts'
import { wantedReplicas } from '../../core/volume-manager/rules/distribution.ts'
import { mountableVolumes } from '../../core/workload/injection/mountable-volumes.ts'
import { firstNodes } from './lists.ts'
import type { Context } from './target.ts'
import type { TreeNode } from './tree.ts'

const validateShape = compileSchema(volumeManagerSchema)

interface ReadManager {
  /** With a spec and a status of valid types. */
  manager: VolumeManager
  /** The fields of the spec with invalid types; then the manager has no volumes. */
  errors: FieldError[]
}

/** Reads a VolumeManager. The CRD of VCK allows any content, and a manifest in a folder may have any status: invalid ones are left out. */
export async function readManager(
  { store }: Pick<Context, 'store'>,
  namespace: string | undefined,
  name: string,
): Promise<ReadManager | undefined> {
  const manager = await store.read(volumeManagers, namespace, name)
  if (!manager) return undefined
  const { spec, status, ...rest } = manager
  const errors = validateShape({ spec })
  const hasStatus = status !== undefined && validateShape({ spec: {}, status }).length === 0
  const shown = {
    ...rest,
    spec: { volumeConfigs: [], ...(errors.length === 0 && spec) },
    ...defined({ status: hasStatus ? status : undefined }),
  }
  return { manager: shown, errors }
}

/** One line for each volume, with its replicas and deletions. `now` in ms since the epoch. */
export async function volumeNodes(manager: VolumeManager, now: number): Promise<TreeNode[]> {
  const mountable = mountableVolumes(manager)
  return Promise.all(
    (manager.spec?.volumeConfigs ?? []).map(async (config) => {
      const { state = 'Waiting', nodes = [], bytes } = mountable.volumes.find(({ id }) => id === config.id) ?? {}
      const { replicas = [], deletions = [], message } = volumeStatus(manager, config) ?? {}
      const facts = [state, ...replicaCount(manager, config), ...(bytes === undefined ? [] : [formatBytes(bytes)])]
      return defined({
        text: `volume ${config.id} (${config.sourceType}): ${facts.join(', ')}`,
        name: config.id,
        state,
        nodes,
        bytes,
        children: [
          ...(message && state !== 'Ready' ? [{ text: message }] : []),
          ...(await firstNodes(replicas, (replica) => replicaNode(replica, now))),
          ...(await firstNodes(deletions, deletionNode)),
        ],
      })
    }),
  )
}

/** A replica with its node, its progress, and why it waits or failed. */
export function replicaNode(replica: ReplicaStatus, now: number): TreeNode {
  const { index, node, state, bytes, totalBytes, reason, message, retryTime, since, shard } = replica
  const size = bytes === undefined ? [] : [`${formatBytes(bytes)}${sizeIfMore(bytes, totalBytes)}`]
  const age = since === undefined ? [] : [`for ${formatAge(now - Date.parse(since))}`]
  const retry = retryTime === undefined ? [] : [{ text: `next attempt at ${retryTime}` }]
  return defined({
    text: `replica ${index}${shard ? ` of shard ${shard}` : ''} ${node ? `on node ${node}` : 'without a node'}: ${[state, ...size, ...age].join(', ')}`,
    state,
    nodes: node ? [node] : undefined,
    bytes,
    reason: reason || undefined,
    children: [...(message ? [{ text: message }] : []), ...retry],
  })
}

function deletionNode({ node, state, cause, message, reason }: DeletionStatus): TreeNode {
  return defined({
    text: `data on node ${node} is to be deleted (${cause}): ${state}`,
    state,
    nodes: [node],
    reason: reason || undefined,
    children: message ? [{ text: message }] : [],
  })
}

/** The ready and the wanted number of replicas. With `onEveryNode`, the nodes decide on the number. */
function replicaCount(manager: VolumeManager, config: VolumeConfig): string[] {
  const { readyReplicas } = volumeStatus(manager, config) ?? {}
  if (readyReplicas === undefined) return []
  const wanted = [...wantedReplicas(config).values()].reduce((sum, count) => sum + count, 0)
  return [config.onEveryNode ? `on ${readyReplicas} nodes` : `${readyReplicas} of ${wanted} replicas`]
}

function volumeStatus(manager: VolumeManager, { id }: VolumeConfig) {
  return manager.status?.volumes?.find((volume) => volume.id === id)
}

function sizeIfMore(bytes: number, total: number | undefined): string {
  return total !== undefined && total > bytes ? ` of ${formatBytes(total)}` : ''
}
