/** Deletes the data on nodes through a running Lodestone: it has the movers for that. */
import { keyOfObject } from '../../api/meta.ts'
import { type Node, nodes } from '../../api/node.ts'
import { type VolumeManager, volumeManagers } from '../../api/volume-manager.ts'
import { leftoversOn, listNodeData, type NodeData } from '../../core/uninstall/volumes.ts'
import { ConflictError } from '../../store/store.ts'
import { collectObjects } from '../all-objects/collect-objects.ts'
import { pause, type UninstallContext } from './gather.ts'

const POLL_MS = 1000
/** More directories are not listed in a message. */
const MAX_LISTED = 20

/** Returns the data of VolumeManagers, and that of deleted ones on nodes that are ready. */
export async function findData(context: UninstallContext): Promise<NodeData[]> {
  const ofManagers = await collectObjects(volumeManagers, context, (object) => listNodeData(object as VolumeManager))
  const ofNodes = await collectObjects(nodes, context, (object) => (isReady(object as Node) ? leftoversOn(object) : []))
  return [...ofManagers, ...ofNodes]
}

/** Whether the API server has a VolumeManager, with data or without. */
export async function hasManagers(context: UninstallContext): Promise<boolean> {
  return (await collectObjects(volumeManagers, context, () => [true])).length > 0
}

/** Lists data, for a message. */
export function listData(data: readonly NodeData[]): string {
  const listed = data.slice(0, MAX_LISTED).map(({ node, path }) => `${node}:${path}`)
  const more = data.length > MAX_LISTED ? [`${data.length - MAX_LISTED} more`] : []
  return [...listed, ...more].join(', ')
}

/**
 * Deletes all VolumeManagers, and waits until Lodestone has deleted their data.
 *
 * @returns why data is left, and the remedy; undefined when all is deleted
 */
export async function deleteData(context: UninstallContext, timeoutMs: number): Promise<string | undefined> {
  const until = context.clock.now() + timeoutMs
  for (;;) {
    const managers = await collectObjects(volumeManagers, context, (object) => [object as VolumeManager])
    for (const manager of managers.filter(({ metadata }) => !metadata.deletionTimestamp)) {
      try {
        await context.store.delete(volumeManagers, manager)
      } catch (error) {
        // It is listed again.
        if (!(error instanceof ConflictError)) throw error
      }
    }
    const data = await findData(context)
    if (managers.length === 0 && data.length === 0) return undefined
    if (context.clock.now() >= until) {
      const names = managers.slice(0, MAX_LISTED).map(keyOfObject).join(', ')
      return `Lodestone has not deleted the data in time: VolumeManagers ${names || 'none'}; data ${listData(data) || 'none'}; delete the pods that use it (see lodestone status), or run with --keep-data`
    }
    await pause(context, POLL_MS)
  }
}

function isReady({ status }: Node): boolean {
  return status?.conditions?.some(({ type, status: state }) => type === 'Ready' && state === 'True') ?? false
}
