/** The YAML dialect of kubectl: YAML 1.2, with the YAML 1.1 forms that the parser of Kubernetes accepts. */
import type { DocumentOptions, ParseOptions, ScalarTag, SchemaOptions } from 'yaml'

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
export const KUBERNETES_YAML: ParseOptions & DocumentOptions & SchemaOptions = {
  version: '1.2',
  merge: true,
  uniqueKeys: true,
  customTags: (tags) => [octal, words, ...tags],
  prettyErrors: false,
  logLevel: 'silent',
}
