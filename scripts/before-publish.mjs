// Runs before `npm publish` of any package here, and refuses: on the public registry these names belong to another project.
const { npm_package_name: name = '' } = process.env

if (name === 'agent-relay' || name.startsWith('@agent-relay/')) {
  process.stderr.write(
    `${name} is another project's package on the public registry: nothing is published under this name.\n`,
  )
  process.stderr.write('npm run pack makes the archives that people install.\n')
  process.exitCode = 1
}
