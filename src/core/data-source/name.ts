/** The name of the DataSource for a query. */
import type { DataSource } from '../../api/data-source.ts'
import { subdomainProblem } from '../../base/names.ts'

type Query = Pick<DataSource['spec'], 'system' | 'type' | 'name' | 'attributes'>

const MAX_NAME_LENGTH = 253
/** 128 bits in base 36: to get the name of another query, a tenant would need a second preimage of SHA-256. */
const HASH_LENGTH = 25
const HASHED = new RegExp(`-[0-9a-z]{${HASH_LENGTH}}$`)

/**
 * Returns `<system>-<type>-<name>`, as in volcano-global, if that is a valid and unambiguous name that does not end like a hash. Otherwise
 * it replaces invalid characters and adds a hash of the whole query. Different queries never have the same name.
 *
 * @param sha256 returns the hash of a text in hexadecimal digits
 */
export function sourceName({ system, type, name, attributes = {} }: Query, sha256: (text: string) => string): string {
  const plain = `${system}-${type}-${name}`
  const entries = Object.entries(attributes).sort(([a], [b]) => (a < b ? -1 : 1))
  const isUnambiguous = !system.includes('-') && !type.includes('-') && !HASHED.test(plain)
  if (entries.length === 0 && isUnambiguous && !subdomainProblem(plain)) return plain
  const hash = compact(sha256(JSON.stringify([system, type, name, entries])))
  const valid = plain
    .toLowerCase()
    .split('.')
    .map((part) => part.replaceAll(/[^a-z0-9]+/g, '-').replaceAll(/^-|-$/g, ''))
    .filter((part) => part !== '')
    .join('.')
    .slice(0, MAX_NAME_LENGTH - HASH_LENGTH - 1)
    .replaceAll(/[-.]+$/g, '')
  return valid === '' ? `source-${hash}` : `${valid}-${hash}`
}

/** Returns the first 128 bits of a hash, as characters that are valid in a Kubernetes name. */
function compact(hexadecimal: string): string {
  return BigInt(`0x${hexadecimal.slice(0, 32)}`)
    .toString(36)
    .padStart(HASH_LENGTH, '0')
}
