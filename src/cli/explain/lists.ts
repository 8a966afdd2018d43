/** Limits long lists of an explanation: each entry of a list may need requests. */
import { listNames } from '../../base/names.ts'
import type { TreeNode } from './tree.ts'

const MAX_ENTRIES = 50

/** The first names, and the number of the others. Data has them all. */
export function firstNames(names: readonly string[]): string {
  return listNames(names, MAX_ENTRIES)
}

/** The nodes of the first entries, one after the other, and a line with the number of the others. */
export async function firstNodes<T>(
  entries: readonly T[],
  nodeOf: (entry: T) => TreeNode | Promise<TreeNode | undefined>,
): Promise<TreeNode[]> {
  const nodes: TreeNode[] = []
  for (const entry of entries.slice(0, MAX_ENTRIES)) {
    const node = await nodeOf(entry)
    if (node) nodes.push(node)
  }
  const others = entries.length - MAX_ENTRIES
  return others > 0 ? [...nodes, { text: `and ${others.toLocaleString('en')} more` }] : nodes
}
