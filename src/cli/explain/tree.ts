/** An explanation as a tree: as data for programs, and as lines for people. */
import { printable } from '../../base/printable.ts'
import type { TransferCost } from '../../core/transfer-cost/transfer-cost.ts'

/** A line of an explanation. docs/guides/explain.md describes the fields for users. */
export interface TreeNode {
  /** The line, without its children. */
  text: string
  /** The object that the line is about; absent for a statement. */
  kind?: string
  apiVersion?: string
  namespace?: string
  name?: string
  /** The state of the object or its data, as one word. */
  state?: string
  reason?: string
  /** The clusters of the data, or of the binding. */
  clusters?: readonly string[]
  /** The nodes of the data. */
  nodes?: readonly string[]
  bytes?: number
  /** What it costs to run the workload in this cluster. */
  transfer?: TransferCost
  /** What excludes the cluster, as rests of sentences about it. */
  excludedBy?: readonly string[]
  /** The id of the stored decision (core/decision-id.ts). */
  decisionId?: string
  /** Whether text shows the line only with `-o wide`. */
  isDetail?: boolean
  children?: TreeNode[]
}

/** The lines of a tree, the root first. `wide` includes the details, and the API version of each object. */
export function drawTree({ text, apiVersion, children = [] }: TreeNode, wide: boolean): string[] {
  const shown = children.filter(({ isDetail }) => wide || !isDetail)
  const head = printable(wide && apiVersion ? `${text} [${apiVersion}]` : text)
  return [head, ...shown.flatMap((child, i) => branch(child, i === shown.length - 1, wide))]
}

/** The tree for programs: every node has children, and details are nodes as all others. */
export function treeData({ isDetail: _shown, children = [], ...fields }: TreeNode): object {
  return { ...fields, children: children.map(treeData) }
}

function branch(node: TreeNode, last: boolean, wide: boolean): string[] {
  const [head = '', ...rest] = drawTree(node, wide)
  return [`${last ? '└─ ' : '├─ '}${head}`, ...rest.map((line) => `${last ? '   ' : '│  '}${line}`)]
}
