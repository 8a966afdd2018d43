/** What goes over a connection: a request, its answer, and who takes the body. */
import type { Head } from './response.ts'

export interface Exchange {
  method: 'GET' | 'HEAD' | 'PUT' | 'POST' | 'DELETE'
  origin: string
  /** With its query. */
  path: string
  headers: Record<string, string>
  body?: Uint8Array | string
}

export interface Answer extends Readonly<Head> {
  /** Empty when a sink took the body. */
  text: string
}

/** Takes a piece of a body, which is there until the promise resolves, or, without one, until the call ends. */
export type Sink = (piece: Buffer) => Promise<void> | undefined

/** Looks at an answer before its body comes: gives what takes the body, or undefined for one that is read as text. */
export type Receive = (answer: Readonly<Head>) => Sink | undefined
