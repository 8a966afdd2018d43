/** Decides which directories of a node a volume may use, for downloaded data and for `Local` volumes. */
import { isVolumeDirectory } from './names.ts'

/** The directories of nodes that the configuration names. None of the first list overlaps one of the second. */
export interface HostRoots {
  /** Lodestone creates and deletes the directories of volumes below these. */
  allowedRoots: readonly string[]
  /** `Local` volumes are below these: pods mount them as they are, and Lodestone writes nothing there. */
  localRoots: readonly string[]
}

/** `data`: directories of volumes are made below it. `local`: pods mount it. */
export type HostPathUse = 'data' | 'local'

/** Why a volume may not use a path of a node. */
export type HostPathFault = 'NotPlain' | 'OfVolume' | 'NotBelow'

/** Why a volume may not use a path; undefined when it may. Paths are compared as text: nothing is decoded or resolved. */
export function hostPathFault(path: string, use: HostPathUse, roots: HostRoots): HostPathFault | undefined {
  if (!isPlainPath(path)) return 'NotPlain'
  if (path.split('/').some(isVolumeDirectory)) return 'OfVolume'
  if (use === 'data') return isBelow(path, roots.allowedRoots) ? undefined : 'NotBelow'
  // Overlapping roots are an error of the configuration. The data of tenants is protected even then.
  const isManaged = roots.allowedRoots.some((root) => overlap(path, root))
  return isBelow(path, roots.localRoots) && !isManaged ? undefined : 'NotBelow'
}

/** Whether a path is absolute, is not `/`, and has no empty parts, `.` or `..`. */
export function isPlainPath(path: string): boolean {
  return path.startsWith('/') && isPlainRelativePath(path.slice(1))
}

/** The same for a relative path. */
export function isPlainRelativePath(path: string): boolean {
  const parts = path.replace(/\/$/, '').split('/')
  // Control characters break lines in logs and messages. Half a surrogate pair becomes another name when it is encoded.
  return (
    path.isWellFormed() && parts.every((part) => part !== '' && part !== '.' && part !== '..' && !/\p{Cc}/u.test(part))
  )
}

/** Whether two plain paths are the same directory, or one is inside the other. */
export function overlap(one: string, other: string): boolean {
  return isBelow(one, [other]) || isBelow(other, [one])
}

/** Whether a plain path is one of the roots or below one. */
export function isBelow(path: string, roots: readonly string[]): boolean {
  const plain = `${path.replace(/\/+$/, '')}/`
  return roots.some((root) => plain.startsWith(`${root.replace(/\/+$/, '')}/`))
}
