/**
 * Reads which object an error message of a catalog or of Hadoop says is missing. Some catalogs send no type or code for it: Embucket, OneLake, and Unity
 * Catalog with one type for all objects. Amoro sends none for an external catalog.
 */

/** The names of a table, as in the query. */
export interface NamedTable {
  /** The last part of its namespace. */
  namespace: string
  table: string
}

/** What a message may be about. The first one is the missing object: "Table orders not found in the catalog eu". */
const SUBJECT =
  /\b(table|namespace|schema|database|catalog|warehouse|project|view|file|path|route|resource|url|uri|endpoint|page|method)\b/i
const MISSING = /not found|not exist|n't exist|no such|unknown|not find|missing/i

/** Some catalogs hide objects that the user may not see behind the error for missing ones. Snowflake: "does not exist or not authorized". */
const MAY_HIDE =
  /\b(?:or|and)\b.{0,80}\b(?:authori[sz]ed|authorization|permissions?|privileges?|access|forbidden|visible|allowed|denied)\b/i

/** Whether a message leaves open that the object exists, and that the user may not see it. */
export function mayHide(message: string): boolean {
  return MAY_HIDE.test(message)
}

/** Returns the kind of the missing object that a message names first; undefined if it names none. */
export function absentKind(message: string): string | undefined {
  return SUBJECT.exec(message)?.[1]?.toLowerCase()
}

/** Whether a message names the table or its namespace as the missing object. */
export function saysAbsent(message: string, { namespace, table }: NamedTable): boolean {
  const subject = absentKind(message)
  if (subject === undefined || !MISSING.test(message)) return false
  if (subject === 'table') return hasWord(message, table)
  return /^(?:namespace|schema|database)$/.test(subject) && hasWord(message, namespace)
}

/**
 * Whether Amoro says that a catalog is external, and not served as Iceberg REST. Its error has the type of all invalid requests,
 * `IllegalArgumentException` (amoro-ams, RestCatalogService: getCatalog). A longer message may quote the name of a claim.
 */
export function saysExternalCatalog(message: string): boolean {
  return message === 'The catalog is not an iceberg rest catalog'
}

/**
 * Whether a message of Hadoop has the parts of a path whose characters a URL may have to encode. Some NameNodes decode these twice
 * (HDFS-14423), and other servers and gateways not at all. Then they miss another path.
 */
export function namesPath(message: string, path: string): boolean {
  const read = message.slice(0, MAX_READ)
  return path.split('/').every((part) => !ENCODED.test(part) || read.includes(part))
}

/** In characters of a message: each part of a path is searched in it. */
const MAX_READ = 16 * 1024

/** ASCII that is no letter, no digit and none of `-_.~`. */
const ENCODED = /[^\w.~\u0080-\uffff-]/

/** Whether a text has a name that does not continue on either side. */
function hasWord(text: string, name: string): boolean {
  const [lower, word] = [text.toLowerCase(), name.toLowerCase()]
  for (let at = lower.indexOf(word); at >= 0 && word !== ''; at = lower.indexOf(word, at + 1)) {
    const around = `${lower[at - 1] ?? ''}${lower[at + word.length] ?? ''}`
    if (!/[\w-]/.test(around)) return true
  }
  return false
}
