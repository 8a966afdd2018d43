/** Checks commit subjects: imperative, at most 72 characters, no full stop; and that history is linear. */
import { execFileSync } from 'node:child_process'

export interface Commit {
  hash: string
  parents: number
  subject: string
}

/** The commits after this one follow the rules. In a shallow clone that does not have it, all do. */
const rulesSince = '7816a5d3c6459d662caa633855a559dbf057ea43'

const MAX_LENGTH = 72
const NO_VERB =
  /^(?:the|an?|no|not|it|this|that|these|those|what|who|when|where|while|if|in|on|at|of|for|by|to|with|from|every|each|all|some|one|two|three|there|its|nothing|only|more|how|why|after|before)$/i
/** Verbs that end as a participle or a third person does. */
const VERB = /^(?:.*ss|embed|feed|need|seed|shed|speed|proceed|exceed|bring|ping|string|ring|focus|bias|alias|canvas)$/i

/** The reasons why a commit is rejected. */
export function faultsOf({ parents, subject }: Commit): string[] {
  const first = /^\S+/.exec(subject)?.[0] ?? ''
  return [
    ...(parents > 1 ? ['merge commit: rebase instead'] : []),
    ...(subject.length > MAX_LENGTH ? [`${subject.length} characters: at most ${MAX_LENGTH}`] : []),
    ...(/[.!…]$/.test(subject) ? ['ends with a full stop'] : []),
    ...(/^[A-Z]/.test(subject) ? [] : ['does not begin with a capital letter']),
    ...(NO_VERB.test(first) || (/(?:ed|ing|s)$/i.test(first) && !VERB.test(first))
      ? [`"${first}" is not an imperative`]
      : []),
  ]
}

/** The commits to check, newest first; none outside of a Git repository, for instance in a tarball. */
export function commitsSince(folder: string, base = rulesSince): Commit[] {
  const git = (...args: string[]) =>
    execFileSync('git', ['-C', folder, ...args], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] })
  try {
    git('rev-parse', '--verify', '--quiet', 'HEAD')
  } catch {
    return []
  }
  const range = isAncestor(git, base) ? `${base}..HEAD` : 'HEAD'
  return git('log', '--format=%H%x09%P%x09%s', range)
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => {
      const [hash = '', parents = '', ...subject] = line.split('\t')
      return { hash, parents: parents === '' ? 0 : parents.split(' ').length, subject: subject.join('\t') }
    })
}

function isAncestor(git: (...args: string[]) => string, base: string): boolean {
  try {
    git('merge-base', '--is-ancestor', base, 'HEAD')
    return true
  } catch {
    return false
  }
}
