// the suite's command line, which has no other way in; here so that it is fetched with everything else that tests need
import "@modelcontextprotocol/conformance/dist/index.js";
