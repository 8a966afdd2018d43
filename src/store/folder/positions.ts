/** Finds the line and column of a field in a YAML or JSON file. */
import { type Document, isAlias, isMap, isScalar, isSeq, type LineCounter, type Node } from 'yaml'

/** A place in a file. Both numbers count from 1. */
export interface Position {
  line: number
  column: number
}

/** Returns the place of an offset; the beginning of the file if it is undefined. */
export function positionAt(offset: number | undefined, lines: LineCounter): Position {
  if (offset === undefined) return { line: 1, column: 1 }
  const { line, col } = lines.linePos(offset)
  return { line, column: col }
}

/**
 * Returns the place of a field below `root`, or of the nearest ancestor that the file has.
 *
 * @param path in the notation of field errors: `spec.clusterNames[1]`, `metadata.annotations[example.org/key]`
 */
export function fieldPosition(path: string, root: Node, document: Document, lines: LineCounter): Position {
  let node: unknown = root
  let offset = root.range?.[0]
  for (const segment of fieldSegments(path)) {
    const target = isAlias(node) ? node.resolve(document) : node
    if (isMap(target)) {
      // The last of several values counts.
      const pair = target.items.findLast(({ key }) => isScalar(key) && String(key.value) === segment)
      if (!pair) break
      offset = (pair.key as Node).range?.[0] ?? offset
      node = pair.value
    } else if (isSeq(target)) {
      const item = target.items[Number(segment)] as Node | undefined
      if (!item) break
      offset = item.range?.[0] ?? offset
      node = item
    } else break
  }
  return positionAt(offset, lines)
}

function fieldSegments(path: string): string[] {
  return [...path.matchAll(/\[([^\]]*)\]|[^.[\]]+/g)].map(([whole, inBrackets]) => inBrackets ?? whole)
}
