/** The keys and names of queries. A long key is replaced by its hash, so that its attributes are in memory once. */
import { hash } from 'node:crypto'
import type { DataSource } from '../../api/data-source.ts'
import type { DataSourceClaim } from '../../api/data-source-claim.ts'
import { sourceName } from '../../core/data-source/name.ts'
import { queryKey, queryOfClaim } from '../../core/data-source-claim/keys.ts'

/** A usual query has about 50 characters; 32 attributes can have 32 KiB. */
const MAX_KEY_LENGTH = 256

/** Returns the key under which a claim is indexed, equal to that of the sources with its query. */
export function queryKeyOfClaim(claim: DataSourceClaim): string {
  return shortened(queryKey(queryOfClaim(claim)))
}

/** Returns the key under which a source is indexed, equal to that of the claims with its query. */
export function queryKeyOfSource({ spec }: Pick<DataSource, 'spec'>): string {
  return shortened(queryKey(spec))
}

/** The name under which the DataSource of a query is created. No tenant can find a second query with the same name. */
export function nameOfSource(query: DataSource['spec']): string {
  return sourceName(query, (text) => hash('sha256', text))
}

/** Shortens a key. No tenant can find a second query with the same SHA-256. */
function shortened(key: string): string {
  return key.length <= MAX_KEY_LENGTH ? key : hash('sha256', key)
}
