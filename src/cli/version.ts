/** `lodestone version`: prints the version, the commit of the build, and the supported versions of Kubernetes and Karmada. */
import { SUPPORTED_VERSIONS } from '../api/supported-versions.ts'
import { readBuildInfo } from '../telemetry/build-info.ts'
import { type Arguments, type Command, type CommandIo, HELP_OPTION } from './command.ts'
import { readFormat, renderData } from './output.ts'

const FORMATS = ['text', 'json', 'yaml'] as const

export const version: Command = {
  name: 'version',
  summary: 'Print the version, and the supported versions of Kubernetes and Karmada',
  usage: '[-o FORMAT]',
  options: {
    output: {
      type: 'string',
      short: 'o',
      value: 'FORMAT',
      description: `One of ${FORMATS.join(', ')} (default: text)`,
      values: FORMATS,
    },
    ...HELP_OPTION,
  },
  examples: [
    { command: 'lodestone version', does: 'Print the version' },
    { command: 'lodestone version -o json', does: 'The same for scripts' },
  ],
  run: runVersion,
}

async function runVersion(args: Arguments, io: CommandIo): Promise<number> {
  const format = readFormat(args, FORMATS)
  const info = readBuildInfo()
  if (format !== 'text') {
    io.stdout.write(renderData({ ...info, supported: SUPPORTED_VERSIONS }, format))
    return 0
  }
  const { kubernetes, karmada } = SUPPORTED_VERSIONS
  io.stdout.write(
    [
      `Lodestone   ${info.version}`,
      `Commit      ${info.commit}`,
      `Node.js     ${info.node.replace(/^v/, '')}`,
      `Kubernetes  ${kubernetes.join(', ')} (tested)`,
      `Karmada     ${karmada.join(', ')} (tested)`,
      '',
    ].join('\n'),
  )
  return 0
}
