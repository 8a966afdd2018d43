/** Readers with given rights, for tests. */
import { resourceWord } from '../../../api/meta.ts'
import type { Viewer } from './viewer.ts'

/**
 * Returns a reader with these rights, each as `VERB RESOURCE`, with ` in NAMESPACE` or ` NAME` behind. `asked` gets every question.
 */
export function viewerWith(rights: readonly string[], asked: string[] = []): Viewer {
  return {
    user: 'reader',
    may(verb, kind, { namespace, name } = {}) {
      const place = `${namespace === undefined ? '' : ` in ${namespace}`}${name === undefined ? '' : ` ${name}`}`
      const question = `${verb} ${resourceWord(kind)}${place}`
      asked.push(question)
      return Promise.resolve(rights.includes(question))
    },
  }
}
