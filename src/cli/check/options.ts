/** The options of `lodestone check`, and their validation. */
import { type Arguments, type Option, UsageError } from '../command.ts'
import { checkFolderAlone, connectionOptions } from '../options/connect.ts'
import { KARMADA_VERSION_OPTION } from '../options/karmada-version.ts'
import { givenNamespace, namespaceOption } from '../options/namespace.ts'
import { configOption } from '../options/read-config.ts'
import { readChoice } from '../options/read-values.ts'
import { outputOption, readFormat } from '../output.ts'
import { FAIL_ON, type FailOn } from './findings/findings.ts'
import { FORMATS, type FormatName } from './render/formats.ts'

const FORMAT_NAMES = Object.keys(FORMATS) as [FormatName, ...FormatName[]]
/** The values of `--fail-on` that users write: the default has no name of its own. */
const FAIL_ON_VALUES = FAIL_ON.filter((value) => value !== 'ineffective')

export const CHECK_OPTIONS = {
  file: {
    type: 'string',
    short: 'f',
    multiple: true,
    value: 'FILE',
    description: 'Manifests to check: a file, a folder, or - for standard input',
  },
  folder: {
    type: 'string',
    value: 'DIR',
    description: 'Existing manifests: claims, sources, policies, clusters',
  },
  ...connectionOptions(
    'Check against the objects of this hub, and write none of them (default: no cluster)',
    'As --kubeconfig, with this context of the kubeconfig',
  ),
  ...namespaceOption(
    'The namespace of checked manifests without one (with --kubeconfig, default: that of the context)',
  ),
  'fail-on': {
    type: 'string',
    value: 'LEVEL',
    description: `${FAIL_ON_VALUES.join(', ')}: the least finding that fails (default: every error)`,
    values: FAIL_ON_VALUES,
  },
  ...configOption(),
  ...KARMADA_VERSION_OPTION,
  'query-systems': {
    type: 'boolean',
    description:
      'Query the data systems of the configuration over the network, at most 30 s (default: static ones only)',
  },
  ...outputOption(
    FORMAT_NAMES,
    `${FORMAT_NAMES.join(', ')} (default: text; yaml: the objects as they would be stored)`,
  ),
} as const satisfies Record<string, Option>

export interface CheckOptions {
  files: readonly string[]
  folder: string | undefined
  /** Whether the manifests are checked against a hub. The environment alone does not select one. */
  hasHub: boolean
  namespace: string | undefined
  queriesSystems: boolean
  failOn: FailOn
  format: FormatName
}

/** Throws `UsageError` for an invalid value. */
export function readOptions(args: Arguments): CheckOptions {
  const files = [...args.texts('file'), ...args.positionals]
  if (files.length === 0)
    throw new UsageError("missing -f FILE: a file, a folder, or - for standard input\nSee 'lodestone check --help'.")
  checkFolderAlone(args)
  return {
    files,
    folder: args.text('folder'),
    hasHub: args.text('kubeconfig') !== undefined || args.text('context') !== undefined,
    namespace: givenNamespace(args),
    queriesSystems: args.flag('query-systems'),
    failOn: readChoice(args, 'fail-on', FAIL_ON_VALUES) ?? 'ineffective',
    format: readFormat(args, FORMAT_NAMES),
  }
}
