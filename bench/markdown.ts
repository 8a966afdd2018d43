/** Tables as Markdown has them. */

type Cell = string | number

export function table(head: Cell[], body: Cell[][]): string {
  const line = (cells: Cell[]) => `| ${cells.join(' | ')} |`
  return `${[line(head), line(head.map(() => '---')), ...body.map(line)].join('\n')}\n`
}
