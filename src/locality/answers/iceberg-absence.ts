/** Decides whether the 404 of an Iceberg catalog proves that a table does not exist. A wrong path or warehouse answers 404 as well. */
import { absentKind, mayHide, type NamedTable, saysAbsent } from './absence-message.ts'
import { type Members, members } from './members.ts'

/**
 * - `absent`: the error says that the table or its namespace does not exist.
 * - `unclear`: it is an error of a catalog that does not say what is missing.
 * - `other`: it is about something else, or no error of a catalog.
 */
export type Absence = 'absent' | 'unclear' | 'other'

/** Types of the specification and of other servers, with and without the suffixes of Java and Python. */
const ABSENT = /^(?:NoSuch(?:Table|Namespace|Tabular)|ObjectNotExists|(?:Table|Namespace)NotFound)(?:Exception|Error)?$/
/** Types that say nothing: Unity Catalog sends `BaseException` for every missing object. */
const VAGUE = /^(?:Base)?(?:Exception|Error|NotFound)$/

/** Messages about a table that exists, with missing files or in another format. Gravitino sends the type of a missing table for both. */
const EXISTS = /metadata[ _-]?(?:file|location)|\.metadata\.json|not an? iceberg table/i

/** Returns the name of the exception in a response, with or without the `error` envelope; undefined if there is none. */
export function errorType(body: unknown): string | undefined {
  const error = members(body)?.['error']
  const type = typeof error === 'string' ? error : icebergError(body)?.['type']
  return typeof type === 'string' && /^[A-Za-z][A-Za-z_]{0,80}$/.test(type) ? type : undefined
}

/** Returns the message of an error; empty if there is none. */
function errorMessage(body: unknown): string {
  const message = icebergError(body)?.['message']
  return typeof message === 'string' ? message.slice(0, MAX_MESSAGE_LENGTH) : ''
}

/** Whether an error leaves open that the table exists, and that the user may not see it. */
export function mayHideTable(body: unknown): boolean {
  return mayHide(errorMessage(body))
}

/** Decides by the type of the error, or by its message if it has none. Embucket and OneLake send no type. */
export function icebergAbsence(body: unknown, named: NamedTable): Absence {
  const type = errorType(body)
  const text = errorMessage(body)
  if (EXISTS.test(text) || mayHide(text)) return 'other'
  if (type !== undefined && ABSENT.test(type)) {
    return type.startsWith('ObjectNotExists') && absentKind(text) === 'catalog' ? 'other' : 'absent'
  }
  if (text === '' || (type !== undefined && !VAGUE.test(type))) return 'other'
  return saysAbsent(text, named) ? 'absent' : 'unclear'
}

function icebergError(body: unknown): Members | undefined {
  return members(members(body)?.['error']) ?? members(body)
}

const MAX_MESSAGE_LENGTH = 1000
