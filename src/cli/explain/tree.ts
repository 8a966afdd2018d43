/** Renders a tree as lines. */

export interface TreeNode {
  text: string
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
