import static java.nio.charset.StandardCharsets.UTF_8;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.Map;
import org.deidentifier.arx.ARXAnonymizer;
import org.deidentifier.arx.ARXConfiguration;
import org.deidentifier.arx.ARXLattice.ARXNode;
import org.deidentifier.arx.ARXResult;
import org.deidentifier.arx.AttributeType;
import org.deidentifier.arx.AttributeType.Hierarchy;
import org.deidentifier.arx.Data;
import org.deidentifier.arx.DataType;
import org.deidentifier.arx.criteria.HierarchicalDistanceTCloseness;
import org.deidentifier.arx.criteria.KAnonymity;
import org.deidentifier.arx.criteria.PrivacyCriterion;
import org.deidentifier.arx.criteria.RecursiveCLDiversity;
import org.deidentifier.arx.metric.Metric;

/**
 * One problem, solved by ARX in one process, as often as is asked or until it took 20 seconds.
 *
 * In: a file of lines `key TAB value ...`, written by `bench_reference.py`. Out: per run one line with the seconds of
 * its search, the transformations checked, the suppressed records, and the levels of the optimum.
 */
public final class RunReference {
    private static final long ENOUGH = 20_000_000_000L;
    private final Map<String, String[]> task = new LinkedHashMap<>();
    private final Path folder;

    private RunReference(Path file) throws Exception {
        for (String line : Files.readAllLines(file)) {
            String[] parts = line.split("\t");
            task.put(parts[0], parts);
        }
        folder = Path.of(task.get("hierarchies")[1]);
    }

    public static void main(String[] arguments) throws Exception {
        RunReference run = new RunReference(Path.of(arguments[0]));
        int times = Integer.parseInt(arguments[1]);
        Data data = run.data();
        long begin = System.nanoTime();
        for (int time = 0; time < times && System.nanoTime() - begin < ENOUGH; time++) {
            System.out.println(run.solved(data));
            data.getHandle().release();
        }
    }

    private Data data() throws Exception {
        Data data = Data.create(task.get("table")[1], UTF_8, ';');
        for (String name : task.get("header")[1].split(";")) {
            data.getDefinition().setAttributeType(name, AttributeType.INSENSITIVE_ATTRIBUTE);
        }
        for (String name : task.get("quasi")[1].split(";")) {
            data.getDefinition().setAttributeType(name, hierarchy(name));
        }
        if (task.containsKey("sensitive")) {
            String[] sensitive = task.get("sensitive");
            data.getDefinition().setAttributeType(sensitive[1], AttributeType.SENSITIVE_ATTRIBUTE);
            data.getDefinition().setDataType(sensitive[1], sensitive[2].equals("integer") ? DataType.INTEGER : DataType.STRING);
        }
        return data;
    }

    private Hierarchy hierarchy(String name) throws Exception {
        return Hierarchy.create(folder.resolve(name + ".csv").toString(), UTF_8, ';');
    }

    private String solved(Data data) throws Exception {
        ARXConfiguration configuration = ARXConfiguration.create();
        configuration.setSuppressionLimit(Double.parseDouble(task.get("limit")[1]));
        configuration.setQualityModel(measure(task.get("measure")[1]));
        for (String[] parts : task.values()) {
            if (parts[0].startsWith("model ")) {
                configuration.addPrivacyModel(model(parts));
            }
        }
        ARXResult result = new ARXAnonymizer().anonymize(data, configuration);
        int checked = 0;
        for (ARXNode[] level : result.getLattice().getLevels()) {
            for (ARXNode node : level) {
                checked += node.isChecked() ? 1 : 0;
            }
        }
        ARXNode best = result.getGlobalOptimum();
        int suppressed = best == null ? 0 : result.getOutput(best, false).getStatistics().getEquivalenceClassStatistics()
            .getNumberOfSuppressedRecords();
        StringBuilder levels = new StringBuilder();
        for (String name : task.get("quasi")[1].split(";")) {
            levels.append(best == null ? "" : best.getGeneralization(name) + " ");
        }
        return String.join("\t", "" + result.getTime() / 1e3, "" + checked, "" + suppressed, levels.toString().trim());
    }

    private static Metric<?> measure(String name) {
        return switch (name) {
            case "loss" -> Metric.createLossMetric(0.5, Metric.AggregateFunction.ARITHMETIC_MEAN);
            case "precision" -> Metric.createPrecisionMetric(false, 0.5, Metric.AggregateFunction.ARITHMETIC_MEAN);
            case "non-uniform-entropy" -> Metric.createEntropyMetric(false, 0.5, Metric.AggregateFunction.SUM);
            case "discernibility" -> Metric.createDiscernabilityMetric();
            case "average-class-size" -> Metric.createAECSMetric(0.5);
            default -> throw new IllegalArgumentException(name);
        };
    }

    private PrivacyCriterion model(String[] parts) throws Exception {
        String sensitive = task.containsKey("sensitive") ? task.get("sensitive")[1] : null;
        return switch (parts[1]) {
            case "k-anonymity" -> new KAnonymity(Integer.parseInt(parts[2]));
            case "recursive" -> new RecursiveCLDiversity(sensitive, Double.parseDouble(parts[2]), Integer.parseInt(parts[3]));
            case "hierarchical" -> new HierarchicalDistanceTCloseness(sensitive, Double.parseDouble(parts[2]), hierarchy(sensitive));
            default -> throw new IllegalArgumentException(parts[1]);
        };
    }
}
