/** Parses the documents of files of tests, which can be changed and written again. Their values are those that kubectl reads. */
import {
  type Document,
  type DocumentOptions,
  type LineCounter,
  type ParseOptions,
  parseAllDocuments,
  type ScalarTag,
  type SchemaOptions,
} from 'yaml'
import { refuseDeepNesting } from '../../store/folder/kubernetes-yaml.ts'

/** The limit of the YAML parser for aliases and their nodes. It stops the "billion laughs" attack. */
const MAX_ALIASES = 100

/** Parses every document of a text. Throws for text that is nested too deeply. */
export function parseDocuments(text: string, lineCounter: LineCounter): Document.Parsed[] {
  refuseDeepNesting(text)
  // The recursive parser throws when the nesting exceeds the stack. An empty text has no documents.
  return [...parseAllDocuments(text, { ...KUBERNETES_YAML, lineCounter })]
}

/** The value of a document. Throws for too many aliases, and for a value that contains itself: no API server can store it. */
export function documentValue(document: Document.Parsed): unknown {
  const value: unknown = document.toJS({ maxAliasCount: MAX_ALIASES })
  // Only an alias can create a value that contains itself, for which JSON.stringify throws.
  JSON.stringify(value)
  return value
}

/** `0644`, as in file modes, is octal for kubectl (YAML 1.1) and decimal in YAML 1.2. */
const octal: ScalarTag = {
  tag: 'tag:yaml.org,2002:int',
  default: true,
  test: /^[-+]?0[0-7]+$/,
  resolve: (text) => Number.parseInt(text, 8),
}

/** go-yaml parses these words as booleans. So an API server rejects an annotation `yes` without quotes, and so does Lodestone. */
const words: ScalarTag = {
  tag: 'tag:yaml.org,2002:bool',
  default: true,
  test: /^(?:y|Y|yes|Yes|YES|on|On|ON|n|N|no|No|NO|off|Off|OFF)$/,
  resolve: (text) => /^(?:y|on)/i.test(text),
}

/** The options of every parse. Merge keys work as in kubectl; duplicate keys are rejected, as by `--validate=strict`. */
const KUBERNETES_YAML: ParseOptions & DocumentOptions & SchemaOptions = {
  version: '1.2',
  merge: true,
  uniqueKeys: true,
  customTags: (tags) => [octal, words, ...tags],
  prettyErrors: false,
  logLevel: 'silent',
}
