/** Suppositions that name objects, and their texts in options and addresses. The page runs this file in a browser. */
import type { Taint } from '../../api/node.ts'
import { taintText } from '../tolerations.ts'

/** A change of the fleet that is supposed, besides manifests. */
export type NamedSupposition =
  | { kind: 'clusterLost'; cluster: string }
  | { kind: 'tainted'; cluster: string; taint: Taint }
  | { kind: 'untainted'; cluster: string; key: string }
  | { kind: 'dataMoved'; source: string; clusters: readonly string[] }
  | { kind: 'sourceStale'; source: string }
  /** `KIND/NAME`. */
  | { kind: 'deleted'; object: string }

/** Suppositions of one question to the page, besides manifests. The command has no limit. */
export const MAX_SUPPOSITIONS = 100

export const TAINT_EFFECTS = ['NoSchedule', 'PreferNoSchedule', 'NoExecute'] as const satisfies Taint['effect'][]

/** The option of `lodestone what-if` for a supposition. */
export type SuppositionOption = 'cluster-lost' | 'taint' | 'data' | 'source-stale' | 'delete'

/** An option of `lodestone what-if` with its value. */
export interface OptionText {
  option: SuppositionOption
  text: string
}

/** Returns the option and the value that `readSupposition` reads. */
export function formatSupposition(supposition: NamedSupposition): OptionText {
  switch (supposition.kind) {
    case 'clusterLost':
      return { option: 'cluster-lost', text: supposition.cluster }
    case 'tainted':
      return { option: 'taint', text: `${supposition.cluster}=${taintText(supposition.taint)}` }
    case 'untainted':
      return { option: 'taint', text: `${supposition.cluster}=${supposition.key}-` }
    case 'dataMoved':
      return { option: 'data', text: `${supposition.source}=${supposition.clusters.join(',')}` }
    case 'sourceStale':
      return { option: 'source-stale', text: supposition.source }
    case 'deleted':
      return { option: 'delete', text: supposition.object }
    default:
      throw new Error(`unknown supposition ${supposition satisfies never}`)
  }
}

/** Reads the value of an option; returns undefined if it has another form. */
export function readSupposition({ option, text }: OptionText): NamedSupposition | undefined {
  switch (option) {
    case 'cluster-lost':
      return { kind: 'clusterLost', cluster: text }
    case 'taint':
      return readTaint(text)
    case 'data':
      return readData(text)
    case 'source-stale':
      return { kind: 'sourceStale', source: text }
    case 'delete':
      return { kind: 'deleted', object: text }
    default:
      throw new Error(`unknown option ${option satisfies never}`)
  }
}

const TAINT = /^([^=]+)=([^=:]+?)(?:=([^:]*))?:(.+)$/
const UNTAINT = /^([^=]+)=([^=:]+)-$/

function readTaint(text: string): NamedSupposition | undefined {
  const [, untainted, removed] = UNTAINT.exec(text) ?? []
  if (untainted !== undefined && removed !== undefined) return { kind: 'untainted', cluster: untainted, key: removed }
  const [, cluster, key, value, word] = TAINT.exec(text) ?? []
  const effect = TAINT_EFFECTS.find((known) => known === word)
  if (cluster === undefined || key === undefined || effect === undefined) return undefined
  return { kind: 'tainted', cluster, taint: { key, ...(value && { value }), effect } }
}

/** The name of data may contain `=`, as that of a partition; a cluster has none. */
function readData(text: string): NamedSupposition | undefined {
  const at = text.lastIndexOf('=')
  const names = text.slice(at + 1).split(',')
  const clusters = [...new Set(names.map((name) => name.trim()))]
  return at < 1 || clusters.includes('') ? undefined : { kind: 'dataMoved', source: text.slice(0, at), clusters }
}
