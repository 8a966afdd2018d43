/** The commands that the page shows, as a shell reads them. Pure. */
import { shellWord } from '../base/shell-word.ts'

export interface ExplainedObject {
  /** Of the address: an author of a link chooses these texts. */
  kind: string
  name: string
  namespace: string | undefined
  /** The folder that the page reads; undefined for a cluster. */
  folder: string | undefined
}

/** Returns the command that prints the explanation of an object. */
export function explainCommand({ kind, name, namespace, folder }: ExplainedObject): string {
  const words = [
    `${kind}/${name}`,
    ...(namespace === undefined ? [] : ['-n', namespace]),
    ...(folder === undefined ? [] : ['--folder', folder]),
  ]
  return ['lodestone explain', ...words.map(shellWord)].join(' ')
}
