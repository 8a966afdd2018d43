/** Steps of tests of volumes that several of them take, and what they read of a world. */
import { events as EVENTS } from '../../src/api/event.ts'
import { type VolumeConfig, volumeManagers } from '../../src/api/volume-manager.ts'
import { makeVolume, makeVolumeManager } from '../builders.ts'
import { ended, moverSays, VolumeWorld } from '../volume-world.ts'

export async function worldWith(volumes: Partial<VolumeConfig>[] = [{ replicas: 2 }], names = ['n1', 'n2', 'n3']) {
  const world = await new VolumeWorld().start(...names)
  await world.store.create(volumeManagers, makeVolumeManager(volumes))
  return world
}

export const failed = (code: string, retry: boolean, message = code) =>
  ended('Failed', { exitCode: 1, message: moverSays({ code, retry, message }) })

export const pathOf = async (world: VolumeWorld) => (await world.volume())?.volumeSource?.hostPath?.path ?? ''

export const spec = (...volumes: Partial<VolumeConfig>[]) => ({ spec: { volumeConfigs: volumes.map(makeVolume) } })

export const wholeOn = (world: VolumeWorld) =>
  [...world.disks]
    .filter(([, state]) => state === 'whole')
    .map(([place]) => place.split(':')[0])
    .sort()

/** A running mover tells how far it is. */
export async function tell(world: VolumeWorld, doneBytes: number, doneFiles: number, totalBytes?: number) {
  const name = `${world.movers()[0]?.metadata.name}.data-path-progress`
  const message = JSON.stringify({ v: 1, attempt: 1, doneBytes, doneFiles, totalBytes })
  const event = { apiVersion: 'v1', kind: 'Event', metadata: { name, namespace: 'default' }, message }
  const before = await world.store.read(EVENTS, 'default', name)
  await (before
    ? world.store.update(EVENTS, { ...before, ...event, metadata: before.metadata })
    : world.store.create(EVENTS, event))
}

export const replicaStates = async (world: VolumeWorld) => (await world.volume())?.replicas?.map(({ state }) => state)

export function isDelete({ metadata }: { metadata: { labels?: Record<string, string> } }): boolean {
  return metadata.labels?.['lodestone.dev/mover'] === 'delete'
}
