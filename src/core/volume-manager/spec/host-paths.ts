/** Which directories of a node a volume may use: the one predicate for downloaded data and for data that is there already. */
import { isVolumeDirectory } from './names.ts'

/** The directories of nodes that the configuration names. None of the first list overlaps one of the second. */
export interface HostRoots {
  /** Below these the controller makes a directory for each volume, and deletes it again. */
  allowedRoots: readonly string[]
  /** Below these `Local` volumes are: pods mount them as they are, and nothing of ours is ever there. */
  localRoots: readonly string[]
}

/** `data`: directories of volumes are made below it. `local`: pods mount it. */
export type HostPathUse = 'data' | 'local'

/** Why a volume may not use a path of a node. */
export type HostPathFault = 'NotPlain' | 'OfVolume' | 'NotBelow'

/** Why a path may not be used so; undefined when it may. A path is compared as it is written: nothing in it is decoded or resolved. */
export function hostPathFault(path: string, use: HostPathUse, roots: HostRoots): HostPathFault | undefined {
  if (!isPlainPath(path)) return 'NotPlain'
  if (path.split('/').some(isVolumeDirectory)) return 'OfVolume'
  if (use === 'data') return isBelow(path, roots.allowedRoots) ? undefined : 'NotBelow'
  // Roots that overlap are an error of the configuration; the data of tenants does not depend on that alone.
  const isManaged = roots.allowedRoots.some((root) => overlap(path, root))
  return isBelow(path, roots.localRoots) && !isManaged ? undefined : 'NotBelow'
}

/** Whether a path is absolute, is no root, and has no parts that lead elsewhere. */
export function isPlainPath(path: string): boolean {
  return path.startsWith('/') && isPlainRelativePath(path.slice(1))
}

/** The same of a path that does not begin at the root. */
export function isPlainRelativePath(path: string): boolean {
  const parts = path.replace(/\/$/, '').split('/')
  // Control characters end lines in logs and messages; half a surrogate pair becomes another name on its way.
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
