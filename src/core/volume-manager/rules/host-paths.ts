/** Decides which directories of a node a volume may use, for downloaded data and for `Local` volumes. */
import type { VolumeMount } from '../../../api/pod.ts'
import { withoutTrailingSlashes } from '../../../base/net/url-encoding.ts'
import { isVolumeDirectory } from './names.ts'

/** The directories of nodes that the configuration names. No directory of one list overlaps a directory of the other. */
export interface HostRoots {
  /** Lodestone creates and deletes the directories of volumes below these. */
  allowedRoots: readonly string[]
  /** `Local` volumes are below these: pods mount them directly, and Lodestone writes nothing there. */
  localRoots: readonly string[]
  /** `roots`: a `Local` volume is exactly one of `localRoots`. Default: also a directory below one. */
  localPaths?: 'below' | 'roots'
}

/** `data`: Lodestone creates the directories of volumes below the path. `local`: pods mount the path itself. */
export type HostPathUse = 'data' | 'local'

/** Why a volume may not use a path of a node. */
export type HostPathFault = 'NotPlain' | 'OfVolume' | 'NotBelow' | 'NoRoot'

/** Why a volume may not use a path; undefined when it may. Paths are compared as text: nothing is decoded or resolved. */
export function hostPathFault(path: string, use: HostPathUse, roots: HostRoots): HostPathFault | undefined {
  if (!isPlainPath(path)) return 'NotPlain'
  if (path.split('/').some(isVolumeDirectory)) return 'OfVolume'
  if (use === 'data') return isBelow(path, roots.allowedRoots) ? undefined : 'NotBelow'
  // Overlapping roots are an error of the configuration. The data of tenants is protected even then.
  const isManaged = roots.allowedRoots.some((root) => overlap(path, root))
  if (!isBelow(path, roots.localRoots) || isManaged) return 'NotBelow'
  return roots.localPaths === 'roots' && !roots.localRoots.some((root) => isBelow(root, [path])) ? 'NoRoot' : undefined
}

/** Whether a path is absolute, is not `/`, and has no empty parts, `.` or `..`. */
export function isPlainPath(path: string): boolean {
  return path.startsWith('/') && isPlainRelativePath(path.slice(1))
}

/** Whether a relative path has no empty parts, `.`, `..` or control characters. */
export function isPlainRelativePath(path: string): boolean {
  const parts = path.replace(/\/$/, '').split('/')
  // Control characters break lines in logs and messages. A lone surrogate becomes another character when it is encoded.
  return (
    path.isWellFormed() && parts.every((part) => part !== '' && part !== '.' && part !== '..' && !/\p{Cc}/u.test(part))
  )
}

/** Normalizes the path of a hostPath volume: an API server accepts doubled slashes and `.`, and rejects `..`. */
export function cleanHostPath(path: string): string {
  return `/${path
    .split('/')
    .filter((part) => part !== '' && part !== '.')
    .join('/')}`
}

/**
 * The directory of the node that a container gets by a mount of a hostPath volume. Variables in it stay as they are.
 *
 * @param path that of the volume, from `cleanHostPath`
 */
export function mountedHostPath(
  path: string,
  { subPath, subPathExpr }: Omit<VolumeMount, 'name' | 'mountPath'>,
): string {
  const part = cleanHostPath(subPath || subPathExpr || '')
  if (part === '/') return path
  return path === '/' ? part : `${path}${part}`
}

/** Whether two plain paths are the same directory, or one is inside the other. */
export function overlap(one: string, other: string): boolean {
  return isBelow(one, [other]) || isBelow(other, [one])
}

/**
 * The root of `localRoots` that contains the path of a `Local` volume, without a slash at its end. Of roots in each other it is the outermost
 * one, since a mover checks the path below it. Undefined for a path below none of them.
 */
export function localRootOf(path: string, { localRoots }: Pick<HostRoots, 'localRoots'>): string | undefined {
  const [root] = localRoots.filter((one) => isBelow(path, [one])).sort((a, b) => a.length - b.length)
  return root && withoutTrailingSlashes(root)
}

/** Whether a plain path is one of the roots or below one. */
export function isBelow(path: string, roots: readonly string[]): boolean {
  const plain = `${withoutTrailingSlashes(path)}/`
  return roots.some((root) => plain.startsWith(`${withoutTrailingSlashes(root)}/`))
}
