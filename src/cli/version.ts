/** `lodestone version`: prints the version, the commit of the build, and the supported versions of Kubernetes and Karmada. */
import { readBuildInfo } from '../telemetry/build-info.ts'
import type { Arguments, Command, CommandIo } from './command.ts'
import { PLAIN_FORMATS, PLAIN_OUTPUT_OPTION, readFormat, renderData } from './output.ts'

/** The minor versions with which the end-to-end tests ran, oldest first, as docs/reference/compatibility.md shows. */
export const SUPPORTED_VERSIONS = {
  kubernetes: ['1.28', '1.31', '1.34', '1.35', '1.37'],
  karmada: ['1.16', '1.17', '1.18'],
}

export const version: Command = {
  usage: '[-o FORMAT]',
  options: PLAIN_OUTPUT_OPTION,
  examples: [
    { command: 'lodestone version', does: 'Print the version' },
    { command: 'lodestone version -o json', does: 'The same for scripts' },
  ],
  run: runVersion,
}

async function runVersion(args: Arguments, io: CommandIo): Promise<number> {
  const format = readFormat(args, PLAIN_FORMATS)
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
