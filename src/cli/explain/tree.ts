/** An explanation as a tree: as data for programs, and as lines for people. */

/** A line of an explanation. docs/explain.md describes the fields for users. */
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
  children?: TreeNode[]
}

/** The lines of a tree, the root first. */
export function drawTree({ text, children = [] }: TreeNode): string[] {
  return [text, ...children.flatMap((child, i) => branch(child, i === children.length - 1))]
}

function branch(node: TreeNode, last: boolean): string[] {
  const [head = '', ...rest] = drawTree(node)
  return [`${last ? '└─ ' : '├─ '}${head}`, ...rest.map((line) => `${last ? '   ' : '│  '}${line}`)]
}
