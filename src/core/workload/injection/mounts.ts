/** Adds the mounts of volumes to the containers of a pod, or lists the conflicts. */
import type { Container, PodSpec, VolumeMount } from '../../../api/pod.ts'
import { ErrorList, type FieldError } from '../../../base/field-errors.ts'
import { defined } from '../../../base/json.ts'
import { listNames } from '../../../base/names.ts'
import type { PlacedRequest } from '../requests/volume-requests.ts'

/** The default mount path; VCK has the same. */
const DEFAULT_MOUNT_PATH = '/var/datasets'

/** One volume to mount into all or some containers. */
export interface WantedMount extends PlacedRequest {
  /** The name of the volume in the pod. */
  volume: string
  readOnly: boolean
}

type Mounted = { containers: Pick<PodSpec, 'containers' | 'initContainers'> } | { errors: FieldError[] }

/**
 * Adds mounts to all containers: to sidecars and init containers too.
 *
 * A container stays as it is if it has the volume at the requested path, or at any path if the request has none. If another volume is
 * mounted at that path, or a block device is there, that is an error. A request that names an unknown container is an error as well.
 *
 * @param at the path of the pod spec in the object
 */
export function mountVolumes(
  { containers, initContainers }: PodSpec,
  wanted: readonly WantedMount[],
  at: string,
): Mounted {
  const all = [...containers, ...(initContainers ?? [])]
  const unknown = unknownContainers(all, wanted)
  const mountsOf = requestedMounts(all, wanted)
  const collisions = new ErrorList()
  const mountAll = (list: readonly Container[], path: string) =>
    list.map((container, i) => mountInto(container, mountsOf(container.name), `${path}[${i}]`, collisions))
  const mounted = defined({
    containers: mountAll(containers, `${at}.containers`),
    initContainers: initContainers && mountAll(initContainers, `${at}.initContainers`),
  })
  const errors = [...unknown, ...collisions.errors()]
  return errors.length > 0 ? { errors } : { containers: mounted }
}

/** Returns an error for each container name in the requests that the pod does not have. */
export function unknownContainers(containers: readonly Container[], requests: readonly PlacedRequest[]): FieldError[] {
  const names = new Set(containers.map(({ name }) => name))
  const errors = new ErrorList()
  for (const { path, request } of requests) {
    for (const [i, { name }] of (request.containers ?? []).entries()) {
      if (names.has(name)) continue
      errors.add(() => ({
        path: `${path}.containers[${i}].name`,
        code: 'NotSupported',
        message: `there is no container ${name}; the pod has ${listNames(names)}`,
      }))
    }
  }
  return errors.errors()
}

interface RequestedMount extends WantedMount {
  mountPath: string
  /** The same path as the container sees it. */
  place: string
  isExplicit: boolean
}

function mountInto(container: Container, wanted: readonly RequestedMount[], at: string, errors: ErrorList): Container {
  const own = container.volumeMounts ?? []
  const deviceAt = openDeviceTable(container)
  const added: VolumeMount[] = []
  const table = openMountTable()
  for (const { name, mountPath } of own) table.add(name, clean(mountPath))
  for (const { path, volume, mountPath, place, isExplicit, readOnly } of wanted) {
    if (table.has(volume, place) || (!isExplicit && table.hasVolume(volume))) continue
    const device = deviceAt(volume, place)
    if (device !== undefined) {
      errors.add(() => deviceCollision(container, device, { path, volume, mountPath }, at))
      continue
    }
    const taken = table.at(place)
    if (taken === undefined) {
      added.push(defined({ name: volume, mountPath, readOnly: readOnly || undefined }))
      table.add(volume, place)
    } else {
      errors.add(() => {
        const found = taken.index < own.length ? `${at}.volumeMounts[${taken.index}].mountPath` : path
        return collision(container, { path, mountPath, taken: taken.names[0] }, found)
      })
    }
  }
  return added.length === 0 ? container : { ...container, volumeMounts: [...own, ...added] }
}

/** The mounts of one container, by clean path and by volume. */
function openMountTable() {
  const byPlace = new Map<string, { names: [string, ...string[]]; index: number }>()
  const volumes = new Set<string>()
  let count = 0
  return {
    add(name: string, place: string): void {
      const known = byPlace.get(place)
      if (known) known.names.push(name)
      else byPlace.set(place, { names: [name], index: count })
      volumes.add(name)
      count++
    },
    has: (volume: string, place: string) => byPlace.get(place)?.names.includes(volume) ?? false,
    hasVolume: (volume: string) => volumes.has(volume),
    /** Returns the volumes that are mounted at a path, and the index of the first mount. */
    at: (place: string) => byPlace.get(place),
  }
}

/**
 * Returns a function from the name of a container to its requested mounts. Each request is read once, since a pod can have a thousand
 * containers. Mounts with a path come first: a volume that has one needs no default mount.
 */
function requestedMounts(
  containers: readonly Container[],
  wanted: readonly WantedMount[],
): (container: string) => readonly RequestedMount[] {
  const forOthers: RequestedMount[] = []
  const named = new Set(wanted.flatMap(({ request }) => request.containers ?? []).map(({ name }) => name))
  const byName = new Map<string, RequestedMount[]>()
  for (const { name } of containers) if (named.has(name)) byName.set(name, [])
  for (const one of wanted) {
    const { containers = [], 'mount-path': forAll } = one.request
    if (containers.length === 0) {
      const mount = toRequestedMount(one, forAll)
      for (const list of [forOthers, ...byName.values()]) list.push(mount)
    }
    for (const { name, 'mount-path': own } of containers) byName.get(name)?.push(toRequestedMount(one, own ?? forAll))
  }
  for (const list of [forOthers, ...byName.values()]) list.sort((a, b) => Number(b.isExplicit) - Number(a.isExplicit))
  return (container) => byName.get(container) ?? forOthers
}

function toRequestedMount(wanted: WantedMount, given: string | undefined): RequestedMount {
  const mountPath = given ?? DEFAULT_MOUNT_PATH
  return { ...wanted, mountPath, place: clean(mountPath), isExplicit: given !== undefined }
}

function collision(
  { name }: Container,
  { path, mountPath, taken }: { path: string; mountPath: string; taken: string },
  at: string,
): FieldError {
  const wayOut = `give ${path === at ? 'it' : path} another mount-path`
  return {
    path: at,
    code: 'Duplicate',
    message: `container ${name} has volume ${taken} at ${mountPath} already; ${wayOut}`,
  }
}

/** In one container, an API server rejects a mount at the path of a block device, and of a volume that is one (ValidateVolumeMounts). */
function deviceCollision(
  { name, volumeDevices = [] }: Container,
  index: number,
  { path, volume, mountPath }: { path: string; volume: string; mountPath: string },
  at: string,
): FieldError {
  const isSame = volumeDevices[index]?.name === volume
  return {
    path: `${at}.volumeDevices[${index}].${isSame ? 'name' : 'devicePath'}`,
    code: 'Duplicate',
    message: isSame
      ? `container ${name} has volume ${volume} as a block device; remove the device, or list the other containers in ${path}.containers`
      : `container ${name} has a block device at ${mountPath} already; give ${path} another mount-path`,
  }
}

/** Finds the index of a block device of a container, by its volume or its clean path. */
function openDeviceTable({ volumeDevices = [] }: Container): (volume: string, place: string) => number | undefined {
  const byVolume = new Map(volumeDevices.map(({ name }, index) => [name, index]))
  const byPlace = new Map(volumeDevices.map(({ devicePath }, index) => [clean(devicePath), index]))
  return (volume, place) => byVolume.get(volume) ?? byPlace.get(place)
}

/** The path to which a container runtime mounts: without double and final slashes, `.` and `..`. */
function clean(path: string): string {
  const segments: string[] = []
  for (const segment of path.split('/')) {
    if (segment === '..') segments.pop()
    else if (segment !== '' && segment !== '.') segments.push(segment)
  }
  return `${path.startsWith('/') ? '/' : ''}${segments.join('/')}`
}
