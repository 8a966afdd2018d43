/** Finds mistyped keys of Lodestone's annotations. */
import {
  ADDED_ANNOTATION,
  DEPENDS_ON_ANNOTATION,
  INJECT_LABEL,
  NODE_REQUIREMENTS_ANNOTATION,
  VOLUMES_ANNOTATION,
} from '../../../api/lodestone.ts'
import type { K8sObject } from '../../../api/meta.ts'
import { suggest } from '../../../base/suggest.ts'
import { cut } from '../../outcome.ts'

/** The annotations that users write on workloads and pods. */
const KNOWN = [VOLUMES_ANNOTATION, DEPENDS_ON_ANNOTATION]
/** The annotations that admission and loops write on workloads and pod templates. */
const WRITTEN: readonly string[] = [ADDED_ANNOTATION, NODE_REQUIREMENTS_ANNOTATION]
const OURS: ReadonlySet<string> = new Set([...KNOWN, ...WRITTEN])
const DOMAIN = 'lodestone.dev/'
/** A mistyped key is likely to have this part too. */
export const IN_OUR_KEYS = 'lodestone'
/** A response has no room for the warnings about more keys. */
const MAX_WARNINGS = 5
/** The most keys that are compared with the known ones: most pods have none that resembles ours. */
const MAX_COMPARED = 50

/**
 * Returns a warning for each unknown key of ours, with the key that was probably meant. Such a key is not an error, since an
 * annotation that only resembles ours may belong to another tool.
 *
 * @param all the annotations of an object, and those of its pod templates
 */
export function mistypedAnnotations(...all: (object | undefined)[]): string[] {
  const problems: string[] = []
  for (const key of similarKeys(all)) {
    const problem = keyProblem(key)
    if (problem !== undefined) problems.push(cut(`lodestone: ${problem}`))
    if (problems.length === MAX_WARNINGS) break
  }
  return problems
}

/** Returns the first keys that have the word `lodestone` and are not ours. */
function similarKeys(all: readonly (object | undefined)[]): ReadonlySet<string> {
  const found = new Set<string>()
  for (const annotations of all) {
    for (const key of Object.keys(annotations ?? {})) {
      if (key.includes(IN_OUR_KEYS) && !OURS.has(key)) found.add(key)
      if (found.size === MAX_COMPARED) return found
    }
  }
  return found
}

/** Returns the annotations with a key of Lodestone, or one that resembles it. */
export function ourAnnotations({ metadata }: K8sObject): Record<string, string> {
  return Object.fromEntries(Object.entries(metadata.annotations ?? {}).filter(([key]) => key.includes(IN_OUR_KEYS)))
}

function keyProblem(key: string): string | undefined {
  if (key === INJECT_LABEL) return `${key} is a label, not an annotation`
  const ours = key.startsWith(DOMAIN)
  // Only the part after our domain is compared: the domain alone would make any two keys similar.
  const meant = suggest(
    ours ? key.slice(DOMAIN.length) : key,
    ours ? KNOWN.map((one) => one.slice(DOMAIN.length)) : KNOWN,
  )
  if (!ours) return meant === '' ? undefined : `unknown annotation ${key}${meant}`
  return `unknown annotation ${key}${meant.replace('mean ', `mean ${DOMAIN}`)}`
}
