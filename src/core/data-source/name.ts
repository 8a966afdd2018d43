/** The name of the DataSource that answers a question. */
import type { DataSource } from '../../api/data-source.ts'
import { fnv1a } from '../hash.ts'
import { subdomainProblem } from '../names.ts'

type Question = Pick<DataSource['spec'], 'system' | 'type' | 'name' | 'attributes'>

const MAX_NAME_LENGTH = 253

/**
 * `<system>-<type>-<name>` as volcano-global has it, where that is a valid name and cannot be read in two ways; else the same made valid,
 * with a hash of the whole question. Different questions never share a name.
 */
export function sourceName({ system, type, name, attributes = {} }: Question): string {
  const plain = `${system}-${type}-${name}`
  const entries = Object.entries(attributes).sort(([a], [b]) => (a < b ? -1 : 1))
  const isPlain = entries.length === 0 && !system.includes('-') && !type.includes('-') && !subdomainProblem(plain)
  if (isPlain) return plain
  const hash = fnv1a(JSON.stringify([system, type, name, entries]))
  const valid = plain
    .toLowerCase()
    .split('.')
    .map((part) => part.replaceAll(/[^a-z0-9]+/g, '-').replaceAll(/^-|-$/g, ''))
    .filter((part) => part !== '')
    .join('.')
    .slice(0, MAX_NAME_LENGTH - hash.length - 1)
    .replaceAll(/[-.]+$/g, '')
  return valid === '' ? `source-${hash}` : `${valid}-${hash}`
}
