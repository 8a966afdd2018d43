/** Finds the pods that use the data of volumes: by directories of nodes, and by claims. */
import { NODE_ANNOTATION } from '../api/lodestone.ts'
import { keyOfObject, objectKey } from '../api/meta.ts'
import { persistentVolumes } from '../api/persistent-volume.ts'
import { type Pod, pods } from '../api/pod.ts'
import { defined } from '../base/json.ts'
import type { VolumeUser } from '../core/volume-manager/input.ts'
import { placeKey } from '../core/volume-manager/rules/names.ts'
import { latestTime } from '../core/volume-manager/time.ts'
import type { CachedUse } from '../store/kinds/volumes.ts'
import type { ObjectStore } from '../store/store.ts'

/** A cached pod that is no mover. */
export type MountingPod = Pod & CachedUse

/**
 * Returns the pods that mount a directory, or a PersistentVolumeClaim of the namespace. Pods of every namespace may mount a directory. A
 * pod with a claim for the directory uses it on the node of its PersistentVolume, even before it is scheduled.
 */
export function directoryUsers(store: ObjectStore, namespace: string | undefined, place: string): VolumeUser[] {
  if (!place.startsWith('/')) return store.byIndex(pods, 'claim', objectKey(namespace, place)).map(volumeUser)
  const byClaim = claimsOn(store, place).flatMap(({ node, claim }) =>
    store.byIndex(pods, 'claim', claim).map((pod) => ({ ...volumeUser(pod), node })),
  )
  return [...store.byIndex(pods, 'directory', place).map(volumeUser), ...byClaim]
}

function volumeUser(pod: Pod): VolumeUser {
  const { use } = pod as MountingPod
  return defined({ pod: keyOfObject(pod), node: use?.node, startTime: use?.startTime })
}

/** The claims for a directory, with the nodes of their PersistentVolumes. */
function claimsOn(store: ObjectStore, directory: string): { node: string; claim: string }[] {
  return store.byIndex(persistentVolumes, 'directory', directory).flatMap(({ metadata, spec }) => {
    const node = metadata.annotations?.[NODE_ANNOTATION]
    const { namespace, name } = spec?.claimRef ?? {}
    return node === undefined || name === undefined ? [] : [{ node, claim: objectKey(namespace, name) }]
  })
}

/** Returns when the last pod with a directory of a node ended, by the clock of that node. */
export function lastUseEnd(store: ObjectStore, node: string, directory: string): string | undefined {
  const ended: readonly MountingPod[] = [
    ...store.byIndex(pods, 'endedIn', placeKey({ node, path: directory })),
    ...claimsOn(store, directory)
      .filter((one) => one.node === node)
      .flatMap(({ claim }) => store.byIndex(pods, 'endedWith', claim)),
  ]
  return latestTime(ended.flatMap(({ pastUse }) => pastUse?.endTime ?? []))
}
