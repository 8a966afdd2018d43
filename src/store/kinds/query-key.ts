/** The keys and names of queries. A long key is replaced by its hash, so that its attributes are in memory once. */
import { hash } from 'node:crypto'
import type { DataSource } from '../../api/data-source.ts'
import type { DataSourceClaim } from '../../api/data-source-claim.ts'
import { sourceName } from '../../core/data-source/name.ts'
import { sourceKeyOfClaim, sourceKeyOfSource } from '../../core/data-source-claim/keys.ts'

/** A usual query has about 50 characters; 32 attributes can have 32 KiB. */
const MAX_KEY_LENGTH = 256

export function queryKeyOfClaim(claim: DataSourceClaim): string {
  return shortened(sourceKeyOfClaim(claim))
}

export function queryKeyOfSource(source: DataSource): string {
  return shortened(sourceKeyOfSource(source))
}

/** The name under which the DataSource of a query is created. No tenant can find a second query with the same name. */
export function nameOfSource(query: DataSource['spec']): string {
  return sourceName(query, (text) => hash('sha256', text))
}

/** Shortens a key. No tenant can find a second query with the same SHA-256. */
function shortened(key: string): string {
  return key.length <= MAX_KEY_LENGTH ? key : hash('sha256', key)
}
