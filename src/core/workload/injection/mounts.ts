/** Adds the mounts of volumes to the containers of a pod, or lists the conflicts. */
import type { Container, PodSpec, VolumeMount } from '../../../api/pod.ts'
import type { FieldError } from '../../field-errors.ts'
import { listNames } from '../../names.ts'
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
 * mounted at that path, that is an error. A request that names an unknown container is an error as well.
 *
 * @param at the path of the pod spec in the object
 */
export function mountVolumes(
  { containers, initContainers }: PodSpec,
  wanted: readonly WantedMount[],
  at: string,
): Mounted {
  const errors = unknownContainers([...containers, ...(initContainers ?? [])], wanted)
  const mountAll = (list: readonly Container[], path: string) =>
    list.map((container, i) => mountInto(container, wanted, `${path}[${i}]`, errors))
  const mounted = {
    containers: mountAll(containers, `${at}.containers`),
    ...(initContainers && { initContainers: mountAll(initContainers, `${at}.initContainers`) }),
  }
  return errors.length > 0 ? { errors } : { containers: mounted }
}

/** Returns an error for each container name in the requests that the pod does not have. */
export function unknownContainers(containers: readonly Container[], requests: readonly PlacedRequest[]): FieldError[] {
  const names = new Set(containers.map(({ name }) => name))
  return requests.flatMap(({ path, request }) =>
    (request.containers ?? []).flatMap(({ name }, i) =>
      names.has(name)
        ? []
        : [
            {
              path: `${path}.containers[${i}].name`,
              code: 'NotSupported' as const,
              message: `there is no container ${name}; the pod has ${listNames(names)}`,
            },
          ],
    ),
  )
}

interface RequestedMount extends WantedMount {
  mountPath: string
  isExplicit: boolean
}

function mountInto(container: Container, wanted: readonly WantedMount[], at: string, errors: FieldError[]): Container {
  const own = container.volumeMounts ?? []
  const added: VolumeMount[] = []
  const table = openMountTable()
  for (const mount of own) table.add(mount)
  for (const { path, volume, mountPath, isExplicit, readOnly } of requestedMounts(container, wanted)) {
    if (table.has(volume, mountPath) || (!isExplicit && table.hasVolume(volume))) continue
    const taken = table.at(mountPath)
    if (taken === undefined) {
      const mount = { name: volume, mountPath, ...(readOnly && { readOnly }) }
      added.push(mount)
      table.add(mount)
    } else {
      const place = taken.index < own.length ? `${at}.volumeMounts[${taken.index}].mountPath` : path
      errors.push(collision(container, { path, mountPath, taken: taken.name }, place))
    }
  }
  return added.length === 0 ? container : { ...container, volumeMounts: [...own, ...added] }
}

/** The mounts of one container, by path and by volume. */
function openMountTable() {
  const byPath = new Map<string, { name: string; index: number }>()
  const mounted = new Set<string>()
  const volumes = new Set<string>()
  let count = 0
  const keyOf = (volume: string, path: string) => `${volume} ${clean(path)}`
  return {
    add({ name, mountPath }: VolumeMount): void {
      const path = clean(mountPath)
      if (!byPath.has(path)) byPath.set(path, { name, index: count })
      mounted.add(keyOf(name, mountPath))
      volumes.add(name)
      count++
    },
    has: (volume: string, path: string) => mounted.has(keyOf(volume, path)),
    hasVolume: (volume: string) => volumes.has(volume),
    /** Returns the volume that is mounted at a path, and the index of its mount. */
    at: (path: string) => byPath.get(clean(path)),
  }
}

/** The requested mounts of this container. Mounts with a path come first: a volume that has one needs no default mount. */
function requestedMounts({ name }: Container, wanted: readonly WantedMount[]): RequestedMount[] {
  const all = wanted.flatMap((one) => {
    const { containers = [], 'mount-path': forAll } = one.request
    if (containers.length === 0) return [toRequestedMount(one, forAll)]
    return containers
      .filter((container) => container.name === name)
      .map((container) => toRequestedMount(one, container['mount-path'] ?? forAll))
  })
  return [...all.filter(({ isExplicit }) => isExplicit), ...all.filter(({ isExplicit }) => !isExplicit)]
}

function toRequestedMount(wanted: WantedMount, mountPath: string | undefined): RequestedMount {
  return { ...wanted, mountPath: mountPath ?? DEFAULT_MOUNT_PATH, isExplicit: mountPath !== undefined }
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

function clean(path: string): string {
  return path.replaceAll(/\/+/g, '/').replace(/(?<=.)\/$/, '')
}
